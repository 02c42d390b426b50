// A small real parameter server over TCP, for what the links give its connections (docs/sharing.md). Every
// server and worker is a process in a network namespace of its own, which links.sh makes. A worker sleeps for
// its computation, pushes its part to each server and waits for the answers; a server has a thread for each
// worker. One line of results: milliseconds, and the coefficient of variation of a step's transfers over the
// workers.
//
//   parameter_server WORKERS SERVERS bsp|asp BYTES STEPS CONGESTION_CONTROL [LOG]
//
// LOG gets the durations of every step, as psim calibrate reads them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr double compute = 0.03, noise = 0.02;  // seconds; relative standard deviation
constexpr int warm_up = 3;                      // steps that do not count
constexpr unsigned limit = 240;                 // seconds, for a process
constexpr int port = 5000;

struct Times {
  double push_begins, push_ends, pull_begins, pull_ends;
};

struct Lab {
  int workers, servers, steps;
  bool bsp;
  std::size_t part;  // bytes of a message
  std::string congestion;
  Times* times;  // in memory that all processes share
  Times& at(int worker, int server, int step) const {
    return times[(static_cast<std::size_t>(worker) * static_cast<std::size_t>(servers) +
                  static_cast<std::size_t>(server)) *
                     static_cast<std::size_t>(steps) +
                 static_cast<std::size_t>(step)];
  }
};

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  _exit(1);
}

void enter(int node) {
  const int name = open(("/run/netns/psim" + std::to_string(node)).c_str(), O_RDONLY | O_CLOEXEC);
  if (name < 0 || setns(name, CLONE_NEWNET) != 0) give_up("network namespace");
  close(name);
}

int open_socket(const Lab& lab) {
  const int on = 1, file = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (setsockopt(file, IPPROTO_TCP, TCP_CONGESTION, lab.congestion.c_str(),
                 static_cast<socklen_t>(lab.congestion.size())) != 0)
    give_up("congestion control");
  return file;
}

sockaddr_in address(std::uint32_t host) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  result.sin_addr.s_addr = htonl(host);
  return result;
}

void send_all(int file, const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = send(file, from, size, MSG_NOSIGNAL);
    if (sent <= 0) give_up("send");
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void receive_all(int file, char* into, std::size_t size) {
  if (recv(file, into, size, MSG_WAITALL) != static_cast<ssize_t>(size)) give_up("receive");
}

void serve(const Lab& lab, int server) {
  enter(server);
  const int listener = open_socket(lab);
  const sockaddr_in any = address(INADDR_ANY);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 || listen(listener, 64) != 0)
    give_up("listen");
  std::barrier all_pushed(lab.workers);
  std::vector<std::thread> threads;
  for (int i = 0; i < lab.workers; ++i) {
    threads.emplace_back([&, file = accept(listener, nullptr, nullptr)] {
      int worker = 0;
      receive_all(file, reinterpret_cast<char*>(&worker), sizeof worker);
      std::vector<char> bytes(lab.part);
      for (int step = 0; step < lab.steps; ++step) {
        Times& times = lab.at(worker, server, step);
        receive_all(file, bytes.data(), lab.part);
        times.push_ends = now();
        if (lab.bsp) all_pushed.arrive_and_wait();
        times.pull_begins = now();
        send_all(file, bytes.data(), lab.part);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

int connect_to(const Lab& lab, int server, int worker) {
  const sockaddr_in to = address((10U << 24U) + (77U << 16U) + 1U + static_cast<unsigned>(server));
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int file = open_socket(lab);
    if (connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      send_all(file, reinterpret_cast<const char*>(&worker), sizeof worker);
      return file;
    }
    close(file);
    usleep(50'000);
  }
  give_up("connect");
}

void work(const Lab& lab, int worker) {
  enter(lab.servers + worker);
  std::barrier begin(lab.servers + 1), end(lab.servers + 1);
  std::vector<std::thread> threads;
  for (int server = 0; server < lab.servers; ++server) {
    threads.emplace_back([&, server, file = connect_to(lab, server, worker)] {
      std::vector<char> bytes(lab.part);
      for (int step = 0; step < lab.steps; ++step) {
        Times& times = lab.at(worker, server, step);
        begin.arrive_and_wait();
        times.push_begins = now();
        send_all(file, bytes.data(), lab.part);
        receive_all(file, bytes.data(), lab.part);
        times.pull_ends = now();
        end.arrive_and_wait();
      }
    });
  }
  std::mt19937 random(static_cast<unsigned>(worker));
  std::normal_distribution<double> draw(compute, noise * compute);
  for (int step = 0; step < lab.steps; ++step) {
    const timespec time{0, static_cast<long>(1e9 * std::max(0.0, draw(random)))};
    nanosleep(&time, nullptr);
    begin.arrive_and_wait();
    end.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
}

double variation(const std::vector<double>& values) {
  double mean = 0, square = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return std::sqrt(square) / mean;
}

void report(const Lab& lab) {
  double push = 0, pull = 0, step_time = 0;
  int rounds = 0;
  for (int server = 0; server < lab.servers; ++server) {
    for (int step = warm_up; step < lab.steps; ++step, ++rounds) {
      std::vector<double> pushes, pulls;
      for (int worker = 0; worker < lab.workers; ++worker) {
        const Times& t = lab.at(worker, server, step);
        pushes.push_back(t.push_ends - t.push_begins);
        pulls.push_back(t.pull_ends - t.pull_begins);
      }
      push += variation(pushes);
      pull += variation(pulls);
    }
  }
  for (int worker = 0; worker < lab.workers; ++worker)
    step_time += (lab.at(worker, 0, lab.steps - 1).push_begins - lab.at(worker, 0, warm_up).push_begins) /
                 (lab.steps - 1 - warm_up) / lab.workers;
  std::printf("%-3s %-5s W %d S %d part %8zu  step %8.2f ms  variation of pushes %.3f, of pulls %.3f\n",
              lab.bsp ? "bsp" : "asp", lab.congestion.c_str(), lab.workers, lab.servers, lab.part,
              1e3 * step_time, push / rounds, pull / rounds);
}

// A push ends when its last server has it, and the pull when the last part is there. Under bsp the pull waits
// for the other workers.
void write_log(const Lab& lab, const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) give_up(path);
  std::fprintf(file, "worker,step,compute_s,push_s,pull_s,bytes\n");
  for (int worker = 0; worker < lab.workers; ++worker) {
    double before = 0;  // the end of the previous step
    for (int step = 0; step < lab.steps; ++step) {
      double begins = lab.at(worker, 0, step).push_begins, pushed = 0, pulled = 0;
      for (int server = 0; server < lab.servers; ++server) {
        const Times& times = lab.at(worker, server, step);
        begins = std::min(begins, times.push_begins);
        pushed = std::max(pushed, times.push_ends);
        pulled = std::max(pulled, times.pull_ends);
      }
      if (step >= warm_up)
        std::fprintf(file, "%d,%d,%.6f,%.6f,%.6f,%zu\n", worker, step, begins - before, pushed - begins,
                     pulled - pushed, lab.part * static_cast<std::size_t>(lab.servers));
      before = pulled;
    }
  }
  std::fclose(file);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7 && count != 8) {
    std::fprintf(stderr, "usage: %s WORKERS SERVERS bsp|asp BYTES STEPS CONGESTION_CONTROL [LOG]\n",
                 arguments[0]);
    return 2;
  }
  Lab lab{.workers = std::atoi(arguments[1]),
          .servers = std::atoi(arguments[2]),
          .steps = std::max(warm_up + 2, std::atoi(arguments[5])),
          .bsp = std::strcmp(arguments[3], "bsp") == 0,
          .part = 0,
          .congestion = arguments[6],
          .times = nullptr};
  lab.part = static_cast<std::size_t>(std::atoll(arguments[4]) / lab.servers);
  const auto entries = static_cast<std::size_t>(lab.workers) * static_cast<std::size_t>(lab.servers) *
                       static_cast<std::size_t>(lab.steps);
  lab.times = static_cast<Times*>(
      mmap(nullptr, entries * sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> processes;
  for (int node = 0; node < lab.servers + lab.workers; ++node) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(limit);
      node < lab.servers ? serve(lab, node) : work(lab, node - lab.servers);
      _exit(0);
    }
    processes.push_back(child);
  }
  bool failed = false;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    if (status != 0 && !std::exchange(failed, true)) {
      for (const pid_t other : processes) kill(other, SIGKILL);
    }
  }
  if (!failed) report(lab);
  if (!failed && count == 8) write_log(lab, arguments[7]);
  return failed ? 1 : 0;
}

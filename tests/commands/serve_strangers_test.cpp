// The playground's server among clients that send for ever, send slowly, or never read.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"
#include "tests/support/served.hpp"

using namespace psim::test;

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What a client sends: first `begin`, then `more` again and again. `ends`: it says that it sends no more.
struct Way {
  std::string begin, more;
  bool ends = false;
};

std::vector<Way> ways_of_strangers() {
  const std::string post = "POST /run HTTP/1.1\r\nHost: localhost\r\n";
  return {{"", ""},
          {"GET / HTTP/1.1\r\nX-Slow: ", "a"},
          {"GET / HTTP/1.1\r\n", "X-More: a\r\n"},
          {"GET / HTTP/1.1\r\nX-Long: ", std::string(65536, 'a')},
          {post + "Content-Length: 60000\r\n\r\n", "a"},
          {post + "Transfer-Encoding: chunked\r\n\r\n", "1000\r\n" + std::string(4096, 'a') + "\r\n"},
          {"GET / HT", "", true},
          {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", ""}};
}

// Clients that connect again whenever they are thrown out, and never read.
class Crowd {
 public:
  Crowd(int port, int clients, int addresses) {
    const std::vector<Way> ways = ways_of_strangers();
    for (int i = 0; i < clients; ++i) {
      const Way& way = ways[static_cast<std::size_t>(i / addresses) % ways.size()];
      clients_.push_back({.way = way, .from = fmt::format("127.0.0.{}", 1 + i % addresses)});
    }
    thread_ = std::jthread([this, port](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        for (Client& one : clients_) go_on(one, port);
        ++rounds;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  ~Crowd() {
    thread_ = {};
    for (const Client& one : clients_) close(one.socket);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  std::atomic<int> rounds = 0;

 private:
  struct Client {
    Way way;
    std::string from;
    int socket = -1;
  };
  static void go_on(Client& one, int port) {
    const auto say = [&](const std::string& text) {
      return text.empty() || send(one.socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
             errno == EAGAIN;
    };
    if (one.socket >= 0 && say(one.way.more)) return;
    close(one.socket);
    one.socket = connected(port, one.from.c_str());
    if (one.socket >= 0) say(one.way.begin);
    if (one.way.ends) shutdown(one.socket, SHUT_WR);
  }

  std::vector<Client> clients_;
  std::jthread thread_;
};

std::string head_of_run(const Served& served, const std::string& lines) {
  return fmt::format("POST /run HTTP/1.1\r\nHost: localhost:{}\r\nX-Psim-Token: {}\r\n{}\r\n", served.port(),
                     served.token(), lines);
}

Answer page_of(const Served& served) { return asked(served, "GET", "/?token=" + served.token()); }

}  // namespace

TEST_CASE("64 strangers from 8 addresses keep nobody out", "[serve]") {
  Served served;
  const Crowd crowd(served.port(), 64, 8);
  while (crowd.rounds < 20) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto begin = Clock::now();
  for (int i = 0; i < 30; ++i) CHECK(page_of(served).status == 200);
  CHECK(seconds_since(begin) < 30);  // by hand: 4 ms a page
  const std::string body = R"({"scenario":"[training]\nsteps = 3\n[cluster]\nworkers = 2\n"})";
  CHECK(asked(served, "POST", "/run", body).body.find("\"result\"") != std::string::npos);
  CHECK(most_memory(served) < 100);
  // Nobody is waited for, not even a run whose client never reads.
  const int held = connected(served.port());
  const std::string endless =
      R"({"scenario":"[model]\nkind = \"phantom\"\nparameters = 1000\n[training]\nsteps = 100000000\n"})";
  const std::string request =
      head_of_run(served, fmt::format("Content-Length: {}\r\n", endless.size())) + endless;
  CHECK(send(held, request.data(), request.size(), MSG_NOSIGNAL) > 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto end = Clock::now();
  CHECK(served.stop(SIGTERM) == 143);
  CHECK(seconds_since(end) < 4);  // the strangers' requests may take five seconds
  close(held);
}

TEST_CASE("a request that never ends is over after a few seconds", "[serve]") {
  const Served served;
  const std::string token = "X-Psim-Token: " + served.token() + "\r\n";
  std::vector<Way> ways = ways_of_strangers();
  ways.pop_back();  // this one is a whole request
  ways.push_back({head_of_run(served, "Content-Length: 60000\r\n"), "a"});
  ways.push_back({head_of_run(served, "Transfer-Encoding: chunked\r\n"), "1\r\na\r\n"});
  ways.push_back({head_of_run(served, "Transfer-Encoding: chunked\r\n") + "1", ";a=b"});
  std::vector<std::jthread> clients;
  std::atomic<int> over = 0;
  const auto begin = Clock::now();
  for (const Way& way : ways) {
    clients.emplace_back([&, way] {
      const int socket = connected(served.port());
      send(socket, way.begin.data(), way.begin.size(), MSG_NOSIGNAL);
      while (seconds_since(begin) < 60) {
        char byte = 0;
        const ssize_t got = recv(socket, &byte, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
          ++over;
          break;
        }
        if (!way.more.empty()) send(socket, way.more.data(), way.more.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      close(socket);
    });
  }
  clients.clear();
  CHECK(over == static_cast<int>(ways.size()));
  CHECK(page_of(served).status == 200);
}

TEST_CASE("a body is bounded however it is encoded", "[serve]") {
  const Served served;
  const auto status = [&](const std::string& lines, const std::string& body) {
    return sent(served.port(), head_of_run(served, lines) + body).status;
  };
  const std::string asks = R"({"scenario":"[cluster\n"})";
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", asks.size(), asks);
  CHECK(status("Transfer-Encoding: chunked\r\n", chunk + "0\r\n\r\n") == 200);
  CHECK(status(fmt::format("Content-Encoding: identity\r\nContent-Length: {}\r\n", asks.size()), asks) ==
        200);
  for (const char* code : {"gzip", "deflate", "br", "x-gzip", "gzip, identity"}) {
    INFO(code);
    CHECK(status(fmt::format("Content-Encoding: {}\r\nContent-Length: {}\r\n", code, asks.size()), asks) ==
          415);
  }
  CHECK(status("Transfer-Encoding: gzip, chunked\r\n", chunk + "0\r\n\r\n") == 415);
  std::string many, extended;
  for (int i = 0; i < 5000; ++i) many += chunk;
  for (int i = 0; i < 5000; ++i) extended += "1;name=" + std::string(30, 'v') + "\r\n \r\n";
  CHECK(status("Transfer-Encoding: chunked\r\n", many) == 413);
  CHECK(status("Transfer-Encoding: chunked\r\n", extended) == 413);
  CHECK(status("Transfer-Encoding: chunked\r\n", "fffffff\r\n" + asks) == 413);
  CHECK(status("Transfer-Encoding: chunked\r\n", "ffffffffffffffffffffff\r\n" + asks) == 400);
  CHECK(status("Content-Length: 65537\r\n", std::string(65537, ' ')) == 413);
  CHECK(status("Content-Length: 65536\r\n", std::string(65536, ' ')) == 400);  // no JSON
  CHECK(most_memory(served) < 100);
}

TEST_CASE("a run takes none of the server's connections along", "[serve]") {
  const Served served;
  const int idle = connected(served.port());
  const std::string endless =
      R"({"scenario":"[model]\nkind = \"phantom\"\nparameters = 1000\n[training]\nsteps = 100000000\n"})";
  const std::string request =
      head_of_run(served, fmt::format("Content-Length: {}\r\n", endless.size())) + endless;
  const int held = connected(served.port());
  CHECK(send(held, request.data(), request.size(), MSG_NOSIGNAL) > 0);
  std::string told;
  const auto runs = [&] {
    return told.find("running") != std::string::npos || told.find("progress") != std::string::npos;
  };
  for (int i = 0; i < 120 && !runs(); ++i) told += received(held, 0.5);
  CHECK(runs());
  int all = 0;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", served.process()))) {
    std::ifstream list(task.path() / "children");
    for (std::string child; list >> child; ++all) {
      for (const auto& file : std::filesystem::directory_iterator("/proc/" + child + "/fd")) {
        std::error_code gone;
        CHECK(std::filesystem::read_symlink(file, gone).string().find("socket:") == std::string::npos);
      }
    }
  }
  CHECK(all == 1);
  close(idle);
  close(held);
}

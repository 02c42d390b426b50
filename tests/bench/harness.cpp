#include "tests/bench/harness.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace psim::bench {
namespace fs = std::filesystem;
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

// Of all cores together, in the kernel's ticks.
struct CoreTime {
  double idle = 0, all = 0;
};
CoreTime core_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  CoreTime time;
  double ticks = 0;
  for (int i = 0; i < 8 && file >> ticks; ++i) {  // user, nice, system, idle, iowait, irq, softirq, steal
    time.all += ticks;
    if (i == 3 || i == 4) time.idle += ticks;
  }
  return time;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

void wait_until_quiet(double until) {
  for (int quiet = 0; quiet < 2 && steady_seconds() < until;) {
    const CoreTime before = core_time();
    usleep(100'000);
    const CoreTime after = core_time();
    quiet = after.idle - before.idle >= 0.9 * (after.all - before.all) ? quiet + 1 : 0;
  }
}

// `body` runs in the child with `out` as the pipe's writing end, and must not return.
Usage child(const std::function<void(int out)>& body) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe to a child process");
  std::fflush(nullptr);
  const double begin = steady_seconds();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no child process");
  if (pid == 0) {
    close(ends[0]);
    body(ends[1]);
    _exit(127);
  }
  close(ends[1]);
  const std::string text = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  const double wall = steady_seconds() - begin;
  Json answer = Json::parse(text, nullptr, false);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 || answer.is_discarded()) {
    throw std::runtime_error(fmt::format("a measured process failed (status {}): {}", status, text));
  }
  return {.wall = wall,
          .cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss),
          .faults = static_cast<double>(usage.ru_minflt + usage.ru_majflt),
          .result = std::move(answer)};
}

}  // namespace

Usage in_child(const std::function<Json()>& work) {
  return child([&](int out) {
    std::string text;
    int code = 0;
    try {
      text = work().dump();
    } catch (const std::exception& error) {
      text = error.what();
      code = 2;
    }
    const bool written = write(out, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? code : 2);
  });
}

Usage run_psim(std::vector<std::string> words) {
  words.insert(words.begin(), PSIM_BINARY);
  words.emplace_back("--json");
  return child([&](int out) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (dup2(out, STDOUT_FILENO) >= 0) execv(argv[0], argv.data());
  });
}

Elapsed timed(const std::function<void()>& work) {
  const double begin = steady_seconds();
  const std::clock_t cpu_begin = std::clock();
  work();
  return {.wall = steady_seconds() - begin,
          .cpu = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC};
}

std::vector<std::vector<double>> alternate(int repeats, double patience,
                                           const std::vector<std::function<double()>>& candidates) {
  std::vector<std::vector<double>> measured(candidates.size());
  const double until = steady_seconds() + patience;
  for (int i = 0; i < repeats; ++i) {
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      wait_until_quiet(until);
      measured[c].push_back(candidates[c]());
    }
  }
  return measured;
}

double capacity_of_two_threads() {
  const auto spin = [] {
    volatile double x = 1;
    for (int i = 0; i < 20'000'000; ++i) x = x * 1.0000001 + 1e-9;
  };
  const double one = timed(spin).wall;
  const double two = timed([&] {
                       std::thread other(spin);
                       spin();
                       other.join();
                     }).wall;
  return 2 * one / two;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double least(const std::vector<double>& values) { return std::ranges::min(values); }

double ratio_of_least(const std::vector<double>& a, const std::vector<double>& b) {
  return least(a) / least(b);
}

std::string spread(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.size(); ++i) ratios.push_back(a[i] / b[i]);
  return fmt::format("median {:.2f}, {:.2f} to {:.2f}", median(ratios), std::ranges::min(ratios),
                     std::ranges::max(ratios));
}

LoadedScenario scenario_of(const std::string& toml) {
  const TemporaryFile file(toml);
  Diagnostics diagnostics;
  std::optional<LoadedScenario> loaded =
      load_scenario({.path = file.path().string(), .overrides = {}, .data_dirs = {}}, diagnostics);
  if (!loaded) throw std::runtime_error(diagnostics.render());
  return *std::move(loaded);
}

TemporaryFile::TemporaryFile(const std::string& text) {
  std::string name = (fs::temp_directory_path() / "psim-bench-XXXXXX.toml").string();
  const int fd = mkstemps(name.data(), 5);
  if (fd < 0) throw std::runtime_error("no temporary file");
  close(fd);
  path_ = name;
  std::ofstream(path_) << text;
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace psim::bench

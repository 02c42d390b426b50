// psim compare: the cross product of the axes and seeds, each run in a process of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "analysis/comparison.hpp"
#include "sim/cli/compare_points.hpp"
#include "sim/cli/compare_report.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/talk.hpp"
#include "sim/record/summary.hpp"

extern char** environ;

namespace psim::cli {
namespace {

std::vector<std::string> child_arguments(const Point& point, unsigned threads) {
  const Command& c = point.command;
  std::vector<std::string> words{
      "psim", "run", c.scenario, "--out", c.out, "--threads", fmt::to_string(threads), "--trace", c.trace};
  for (const std::string& set : c.sets) words.insert(words.end(), {"--set", set});
  if (c.seed) words.insert(words.end(), {"--seed", fmt::to_string(*c.seed)});
  for (const std::string& dir : c.data_dirs) words.insert(words.end(), {"--data-dir", dir});
  if (c.force) words.emplace_back("--force");
  return words;
}

using Log = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A file without a name: another psim may be at work in the same folder.
Log open_log() {
  Log log(std::tmpfile(), std::fclose);
  if (!log) throw std::runtime_error("no temporary file for what a run says");
  return log;
}

std::string text_of(std::FILE* log) {
  std::rewind(log);
  std::string text;
  for (int c = std::fgetc(log); c != EOF; c = std::fgetc(log)) text += static_cast<char>(c);
  return text;
}

pid_t start(const Point& point, unsigned threads, std::FILE* log) {
  std::vector<std::string> words = child_arguments(point, threads);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(log), STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(fmt::format("cannot start a process: error {}", error));
  return child;
}

void show_progress(std::size_t finished, std::size_t total) {
  if (isatty(STDERR_FILENO) != 0) say("\r\033[K{}/{} runs", finished, total);
}

// Runs what is not done yet, `jobs` processes at a time.
void run_all(std::vector<Point>& points, unsigned jobs, unsigned threads) {
  struct Running {
    Point* point;
    Log log;
  };
  std::map<pid_t, Running> running;
  std::size_t finished = 0;
  auto next = points.begin();
  while (next != points.end() || !running.empty()) {
    show_progress(finished, points.size());
    if (next != points.end() && running.size() < jobs) {
      Point& point = *next++;
      if (!point.command.force)
        point.summary = finished_run(point.command.out, point.hash, point.command.trace).summary;
      if (point.summary) {
        ++finished;
      } else {
        Log log = open_log();
        const pid_t child = start(point, threads, log.get());
        running.emplace(child, Running{&point, std::move(log)});
      }
      continue;
    }
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    const auto found = running.find(child);
    if (found == running.end()) continue;
    const Running done = std::move(found->second);
    Point& point = *done.point;
    running.erase(found);
    ++finished;
    point.summary = finished_run(point.command.out, point.hash, point.command.trace).summary;
    if (!point.summary)
      throw std::runtime_error(fmt::format(
          "a run failed: {}\n{}", fmt::join(child_arguments(point, threads), " "), text_of(done.log.get())));
  }
  if (isatty(STDERR_FILENO) != 0) say("\r\033[K");
}

}  // namespace

int compare(const Command& command) {
  std::optional<Plan> plan = plan_comparison(command);
  if (!plan) return bad_input;
  std::vector<Point>& points = plan->points;

  const bool temporary = command.json && command.out.empty();
  const fs::path base = temporary ? fs::temp_directory_path() / fmt::format("psim-compare-{}", getpid())
                        : command.out.empty() ? fs::path("runs")
                                              : folder_named(command.out);
  fs::create_directories(base);
  for (Point& point : points)
    point.command.out =
        (base / run_directory(scenario_name(command.scenario), point.hash).filename()).string();

  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned jobs =
      std::min(command.jobs > 0 ? command.jobs : cores, static_cast<unsigned>(points.size()));
  run_all(points, jobs, command.threads > 0 ? command.threads : std::max(1U, cores / jobs));

  std::vector<analysis::ComparedRun> runs;
  for (Point& point : points) runs.push_back({point.labels, point.seed, std::move(*point.summary)});
  const analysis::Comparison comparison = analysis::compare(plan->axes, std::move(runs));
  if (temporary) fs::remove_all(base);
  return print_comparison(command, comparison, base.string());
}

}  // namespace psim::cli

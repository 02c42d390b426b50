// psim compare: the cross product of the axes and seeds, each run in a process of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "analysis/comparison.hpp"
#include "sim/cli/compare.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/process.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/scratch.hpp"
#include "sim/cli/talk.hpp"
#include "sim/record/summary.hpp"

namespace psim::cli {
namespace {

std::vector<std::string> child_arguments(const Point& point, unsigned threads) {
  const Command& c = point.command;
  std::vector<std::string> words{"run",     c.scenario, "--out", c.out, "--threads", fmt::to_string(threads),
                                 "--trace", c.trace};
  for (const std::string& set : c.sets) words.insert(words.end(), {"--set", set});
  if (c.seed) words.insert(words.end(), {"--seed", fmt::to_string(*c.seed)});
  for (const std::string& dir : c.data_dirs) words.insert(words.end(), {"--data-dir", dir});
  if (c.force) words.emplace_back("--force");
  return words;
}

// What a run says, in memory.
class Log {
 public:
  Log() : file_(memfd_create("log", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("no memory for what a run says");
  }
  ~Log() { close(file_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  int file() const { return file_; }
  std::string text() const { return read_file(fmt::format("/proc/self/fd/{}", file_)); }

 private:
  int file_;
};

// The processes that are at work. None outlives this.
class Children {
 public:
  explicit Children(unsigned threads) : threads_(threads) {}
  ~Children() {
    for (const auto& [child, run] : running_) kill(child, SIGTERM);
    for (const auto& [child, run] : running_) {
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::size_t size() const { return running_.size(); }

  void start(Point& point) {
    auto log = std::make_unique<Log>();
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const pid_t child = start_psim(child_arguments(point, threads_), nowhere, log->file());
    close(nowhere);
    running_.emplace(child, Run{&point, std::move(log)});
  }

  // Takes in a run that has ended, if one has. Throws when it has failed.
  bool take_one() {
    int status = 0;
    const auto found = running_.find(waitpid(-1, &status, WNOHANG));
    if (found == running_.end()) return false;
    const Run run = std::move(found->second);
    running_.erase(found);
    Point& point = *run.point;
    Finished finished = finished_run(point.command.out, point.hash, point.command.trace);
    const bool has_ended = WIFEXITED(status) && WEXITSTATUS(status) <= answer_is_no;
    if (has_ended && !finished.why_not.empty())
      throw Refused(
          fmt::format("{}/ was run, and cannot be compared: {}", point.command.out, finished.why_not),
          "leave the scenario and its data as they are until all runs are done");
    point.summary = std::move(finished.summary);
    if (!point.summary)
      throw std::runtime_error(fmt::format("a run failed, with {}: psim {}\n{}", how_it_ended(status),
                                           fmt::join(child_arguments(point, threads_), " "),
                                           run.log->text()));
    return true;
  }

 private:
  struct Run {
    Point* point;
    std::unique_ptr<Log> log;
  };
  unsigned threads_;
  std::map<pid_t, Run> running_;
};

void show_progress(std::size_t finished, std::size_t total) {
  if (isatty(STDERR_FILENO) != 0) say("\r\033[K{}/{} runs", finished, total);
}

// Takes what is done already; returns the others. Says how many are computed again, and why.
std::vector<Point*> take_finished(std::vector<Point>& points) {
  std::vector<Point*> left;
  std::map<std::string, std::vector<std::string>> again;  // by reason
  for (Point& point : points) {
    Finished found;
    if (!point.command.force) found = finished_run(point.command.out, point.hash, point.command.trace);
    point.summary = std::move(found.summary);
    if (point.summary) continue;
    check_target(point.command.out);
    left.push_back(&point);
    if (!found.why_not.empty()) again[found.why_not].push_back(point.command.out);
  }
  for (const auto& [why, folders] : again) {
    const std::string more = folders.size() > 1 ? fmt::format(" and {} more", folders.size() - 1) : "";
    say("{}/{} computed again: {}\n", folders.front(), more.empty() ? " is" : more + " are", why);
  }
  return left;
}

std::string what_is_done(const Command& command, bool kept, std::size_t finished, std::size_t total) {
  const std::string done = fmt::format("interrupted: {} of {} runs are done", finished, total);
  if (!kept) return done + ", and not kept; with --out DIR they are";
  return done +
         (command.force ? "; without --force the same command continues" : "; the same command continues");
}

// Runs what is not done yet, as many processes at a time as the command says.
void run_all(const Command& command, bool kept, std::vector<Point>& points,
             const InterruptsHeld& interrupts) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned jobs =
      std::min(command.jobs > 0 ? command.jobs : cores, static_cast<unsigned>(points.size()));
  const std::vector<Point*> left = take_finished(points);
  Children children(command.threads > 0 ? command.threads : std::max(1U, cores / jobs));
  auto next = left.begin();
  std::size_t finished = points.size() - left.size();
  while (next != left.end() || children.size() > 0) {
    show_progress(finished, points.size());
    if (const int signal = interrupts.pending(); signal != 0)
      throw Interrupted{signal, what_is_done(command, kept, finished, points.size())};
    if (next != left.end() && children.size() < jobs) children.start(**next++);
    else if (children.take_one()) ++finished;
    else interrupts.wait();
  }
  if (isatty(STDERR_FILENO) != 0) say("\r\033[K");
}

// Where the runs are put.
fs::path base_of(const Command& command) {
  if (command.out.empty()) return "runs";
  fs::path base = folder_named(command.out);
  if (fs::exists(base / "summary.json"))
    throw Refused(fmt::format("{} is a run", base.string()), "name the folder that holds the runs");
  return base;
}

}  // namespace

int compare(const Command& command) {
  Plan plan = plan_comparison(command, true);
  std::vector<Point>& points = plan.points;

  fs::path base;
  {
    const InterruptsHeld interrupts;  // until the temporary folder is gone
    std::optional<ScratchFolder> scratch;
    if (command.json && command.out.empty()) scratch.emplace("psim-compare");
    base = scratch ? scratch->path() : base_of(command);
    fs::create_directories(base);
    for (Point& point : points)
      point.command.out =
          (base / run_directory(scenario_name(command.scenario), point.hash).filename()).string();
    run_all(command, !scratch, points, interrupts);
    if (!scratch) set_latest(points.back().command.out);
  }
  std::vector<analysis::ComparedRun> runs;
  for (Point& point : points) runs.push_back({point.labels, point.seed, std::move(*point.summary)});
  const analysis::Comparison comparison = analysis::compare(plan.axes, std::move(runs));
  return print_comparison(command, comparison, points.front());
}

}  // namespace psim::cli

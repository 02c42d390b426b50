// psim fuzz: runs random scenarios in separate processes, and shrinks those that fail.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/judge.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/fuzz/base.hpp"
#include "sim/fuzz/generator.hpp"
#include "sim/fuzz/shrink.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/runs/host_clock.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/refusals.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/runs/scratch.hpp"
#include "sim/runs/shell.hpp"
#include "sim/runs/shipped.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

constexpr std::uint64_t most_attempts = 100;
// Seconds of processor time for a process: thousands of concurrent messages on a slow link take minutes.
constexpr double run_limit = 600, shrink_limit = 60;

std::atomic<int> interrupted = 0;  // the signal
extern "C" void on_interrupt(int signal) { interrupted = signal; }

using Tally = std::map<std::string, std::int64_t>;

// The consistency model of a scenario. Throws Invalid if the scenario does not load.
fuzz::Table base_consistency(const std::string& file) {
  Diagnostics diagnostics;
  if (!load_scenario({.path = file, .overrides = {}, .data_dirs = {}, .without_data = true}, diagnostics))
    throw Invalid{diagnostics.render()};
  std::optional<fuzz::Table> table = fuzz::consistency_of(file);
  if (!table)
    throw Refused(fmt::format("{} has no [consistency]", file), "--base needs a scenario with its own model");
  return std::move(*table);
}

class Fuzzer {
 public:
  explicit Fuzzer(const FuzzCommand& command) : command_(command), begin_(host_seconds()) {
    if (command_.runs == 0 && command_.seconds == 0) command_.runs = 1000;
    if (!command_.base.empty()) consistency_ = base_consistency(find_scenario(command_.base));
  }

  int run() {
    setenv("PSIM_INVARIANTS", "1", 1);  // every run checks its shards after every step
    setenv("PSIM_PROBES", "1", 1);      // and lists the rare states that it has reached
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, on_interrupt);
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < (command_.jobs > 0 ? command_.jobs : cores); ++i)
      threads.emplace_back([this, i] { work(i); });
    threads.clear();
    if (isatty(STDERR_FILENO) != 0) say("\r\033[K");
    if (error_) std::rethrow_exception(error_);
    print_table();
    if (interrupted != 0)
      throw Interrupted{interrupted, fmt::format("interrupted: {} finished; --seed {} --first {} continues",
                                                 counted(finished_, "run"), command_.seed, next_to_do())};
    return failures_.empty() ? done : answer_is_no;
  }

 private:
  // Makes one run after the other until none is left.
  void work(unsigned job) {
    try {
      const fs::path folder = base_.path() / fmt::to_string(job);
      fs::create_directories(folder);
      Judge judge{.folder = folder, .limit = run_limit, .interrupted = interrupted};
      while (const std::optional<std::int64_t> run = next()) {
        std::int64_t refused = 0;
        const auto [draft, verdict] = draw_and_judge(*run, judge, refused);
        if (interrupted != 0) return;
        count(*run, draft, verdict, refused);
        if (!verdict.failure.empty()) report(*run, draft, verdict.failure, judge);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
      interrupted = SIGTERM;
    }
  }

  std::optional<std::int64_t> next() {
    const std::scoped_lock lock(mutex_);
    if (interrupted != 0 || (command_.runs > 0 && started_ == command_.runs)) return std::nullopt;
    if (command_.seconds > 0 && host_seconds() - begin_ > command_.seconds) return std::nullopt;
    return *in_hand_.insert(command_.first + started_++).first;
  }

  std::pair<fuzz::Draft, Verdict> draw_and_judge(std::int64_t run, const Judge& judge,
                                                 std::int64_t& refused) const {
    std::string why;
    for (std::uint64_t attempt = 0; attempt < most_attempts; ++attempt) {
      fuzz::Draft draft =
          fuzz::draw(static_cast<std::uint64_t>(command_.seed), static_cast<std::uint64_t>(run), attempt);
      if (consistency_) draft = fuzz::with_consistency(std::move(draft), *consistency_);
      Verdict verdict = judge(to_toml(draft));
      if (verdict.outcome != "refused") return {std::move(draft), std::move(verdict)};
      ++refused;
      why = verdict.detail;
    }
    if (consistency_)
      throw Refused(
          fmt::format("the model of {} fits no drawn cluster; the last error is:\n{}", command_.base, why),
          "drawn clusters have two to six workers");
    throw std::runtime_error(fmt::format("run {}: {} draws were refused", run, most_attempts));
  }

  // The first unfinished run.
  std::int64_t next_to_do() const { return in_hand_.empty() ? command_.first + started_ : *in_hand_.begin(); }

  void count(std::int64_t run, const fuzz::Draft& draft, const Verdict& verdict, std::int64_t refused) {
    const std::scoped_lock lock(mutex_);
    ++finished_;
    in_hand_.erase(run);
    refused_ += refused;
    ++outcomes_[verdict.failure.empty() ? verdict.outcome : "FAILED: " + verdict.failure];
    for (const std::string& feature : features(draft)) ++features_[feature];
    for (const std::string& state : verdict.states) ++states_[state];
    if (isatty(STDERR_FILENO) != 0) say("\r\033[K{}, {} failed", counted(finished_, "run"), failures_.size());
  }

  // Writes the smallest scenario that fails in the same way.
  void report(std::int64_t run, const fuzz::Draft& draft, const std::string& failure, Judge judge) {
    judge.limit = shrink_limit;
    const fuzz::Draft least = fuzz::shrink(draft, [&](const fuzz::Draft& one) {
      return interrupted == 0 && judge(to_toml(one)).failure == failure;
    });
    judge.limit = run_limit;
    const Verdict verdict = judge(to_toml(least));
    const fs::path file = fs::path(command_.out) / fmt::format("seed-{}-run-{}.toml", command_.seed, run);
    std::string text = fmt::format("# {}\n", failure);
    if (!verdict.detail.empty())
      text += fmt::format("# {}\n", verdict.detail.substr(0, verdict.detail.find('\n')));
    const std::string base = command_.base.empty() ? "" : " --base " + file_word(command_.base);
    text +=
        fmt::format("# PSIM_INVARIANTS=1 psim run {}; drawn by psim fuzz --seed {} --first {} --runs 1{}\n{}",
                    file.string(), command_.seed, run, base, to_toml(least));
    const std::scoped_lock lock(mutex_);
    fs::create_directories(command_.out);
    write_file(file, text);
    fmt::print("{}{}\n{}\n", isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "", file.string(), text);
    std::fflush(stdout);
    failures_.push_back(file.string());
  }

  void print_table() const {
    const double seconds = host_seconds() - begin_;
    fmt::print("{} of seed {} in {:.1f} s ({:.1f} a second); {} invalid\n", counted(finished_, "run"),
               command_.seed, seconds, static_cast<double>(finished_) / seconds,
               counted(refused_, "draw") + (refused_ == 1 ? " was" : " were"));
    for (const auto& [name, counts] : {std::pair{"outcomes", &outcomes_}, {"what they had", &features_}}) {
      fmt::print("\n{}\n", name);
      for (const auto& [what, count] : *counts) fmt::print("  {:<44}{:>8}\n", what, count);
    }
    print_states();
    if (!failures_.empty()) fmt::print("\n{} failed: {}\n", failures_.size(), fmt::join(failures_, " "));
  }

  void print_states() const {
    std::set<std::string> never;
    for (const Probe* probe : all_probes()) {
      if (!states_.contains(std::string(probe->state)))
        never.insert(fmt::format("  {}:{}: {}\n", probe->file, probe->line, probe->state));
    }
    fmt::print("\nrare states: {} of {} reached, but not\n{}", states_.size(), all_probes().size(),
               fmt::join(never, ""));
  }

  FuzzCommand command_;
  std::optional<fuzz::Table> consistency_;  // of all draws; none: each draw has its own
  ScratchFolder base_{"psim-fuzz"};
  double begin_;
  std::mutex mutex_;
  std::int64_t started_ = 0, finished_ = 0, refused_ = 0;
  std::set<std::int64_t> in_hand_;  // numbers of the current runs
  Tally outcomes_, features_, states_;
  std::vector<std::string> failures_;
  std::exception_ptr error_;
};

}  // namespace

int fuzz(const FuzzCommand& command) {
  Refusals wrong;
  std::optional<Fuzzer> fuzzer;
  wrong.check([&] { check_can_make(command.out, "--out"); });
  wrong.check([&] { fuzzer.emplace(command); });
  wrong.throw_if_any();
  return fuzzer->run();
}

}  // namespace psim::cli

// psim fuzz: runs random scenarios in separate processes, and shrinks those that fail.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/further.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/fuzz/generator.hpp"
#include "sim/fuzz/shrink.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {

// Runs a scenario in separate processes and decides whether psim behaved correctly.
struct Verdict {
  std::string outcome;  // of a finished run: "done", "target", "time is up", "stuck"
  std::string failure;  // the kind of failure, without names and numbers; empty: none
  std::string detail;   // the full text
  // The rare states that a finished run has reached.
  std::vector<std::string> states = {};
};

struct Judge {
  fs::path folder;                      // for temporary files
  double limit = 60;                    // seconds of processor time for each process
  const std::atomic<int>& interrupted;  // the signal, or 0; after a signal the verdict has no meaning

  // Throws std::filesystem::filesystem_error if `folder` is not writable or the disk is full.
  Verdict operator()(const std::string& toml) const;
};

namespace {

// The status of `psim WORDS...`; nothing if it was killed: after `limit` seconds of processor time, after a
// multiple of that by the clock (a busy machine is slow), or by an interrupt.
std::optional<int> run_psim(std::vector<std::string> words, const fs::path& out, const fs::path& log,
                            double limit, const std::atomic<int>& stopped_by) {
  Child child(std::move(words), out, log, {.cpu_seconds = static_cast<std::uint64_t>(limit)});
  constexpr std::chrono::milliseconds slice{50};
  constexpr double patience = 30;  // seconds by the clock for each second of the limit
  bool in_time = false;
  for (double waited = 0; !in_time && waited < patience * limit * 1e3 && stopped_by == 0;
       waited += static_cast<double>(slice.count()))
    in_time = child.ends_within(slice);
  if (!in_time) return std::nullopt;  // the destructor kills it
  const int status = child.wait();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) return std::nullopt;
  return status;
}

// Failures of the same kind get the same text, without dates and names.
std::string without_numbers(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text;
}

std::string outcome_of(const Json& summary, const Scenario& scenario) {
  if (!summary["stuck"].empty())
    return summary["stuck"][0].get<std::string>().find("nothing new has come") == std::string::npos
               ? "stuck"
               : "in vain";
  if (summary["target"]["reached"]) return "target";
  const std::optional<Seconds>& duration = scenario.training.duration;
  return duration && summary["sim_time_s"] >= duration->value ? "time is up" : "done";
}

Verdict failed(std::string kind, std::string detail) {
  return {.outcome = "failed", .failure = std::move(kind), .detail = std::move(detail)};
}

// Whether a process with the output `text` failed because of a full disk. That is not its fault, and it may
// have had no space to say so.
bool disk_is_full(const std::string& text, const fs::path& folder) {
  constexpr std::uintmax_t too_little = std::uintmax_t{1} << 20U;  // bytes; a run.db takes more
  return text.find("disk is full") != std::string::npos ||
         text.find(std::strerror(ENOSPC)) != std::string::npos || fs::space(folder).available < too_little;
}

// The output from the error on. Notes on the scenario come before the error and do not end a run.
std::string from_error(const std::string& text) {
  const std::size_t before = text.starts_with("error") ? std::string::npos : text.find("\nerror");
  return before == std::string::npos ? text : text.substr(before + 1);
}

// The failure of a process that should have ended with 0 or 1; nothing if it did. Throws
// std::filesystem::filesystem_error if the disk is full.
std::optional<Verdict> bad_end(std::optional<int> status, const fs::path& log, double limit) {
  if (!status) return failed("hang", fmt::format("no end after {} s", limit));
  if (WIFSIGNALED(*status)) {
    const std::string name = strsignal(WTERMSIG(*status));
    return failed("signal: " + name, fmt::format("{}\n{}", name, read_file(log)));
  }
  if (WEXITSTATUS(*status) <= answer_is_no) return std::nullopt;
  const std::string text = read_file(log);
  if (disk_is_full(text, log.parent_path()))
    throw fs::filesystem_error("write", log.parent_path(), std::error_code(ENOSPC, std::generic_category()));
  const std::string error = from_error(text);
  return failed(fmt::format("exit code {}: {}", WEXITSTATUS(*status), without_numbers(error)), error);
}

// The first check of `psim verify` that is violated.
Verdict broken_promise(const Json& document) {
  for (const Json& check : document["checks"]) {
    if (check["violations"] == 0) continue;
    const std::string text = check["first"].empty() ? "" : check["first"][0]["text"].get<std::string>();
    return failed("violated: " + check["name"].get<std::string>(), text);
  }
  return failed("violated", "");
}

}  // namespace

Verdict Judge::operator()(const std::string& toml) const {
  const fs::path file = folder / "scenario.toml", out = folder / "out.json", log = folder / "log",
                 record = folder / "run";
  write_file(file, toml);
  Diagnostics diagnostics;
  const std::optional<LoadedScenario> loaded =
      load_scenario({.path = file.string(), .overrides = {}, .data_dirs = {}}, diagnostics);
  if (!loaded || !diagnostics.empty())
    return {.outcome = "refused", .failure = {}, .detail = diagnostics.render()};
  std::string digest;
  Json summary;
  std::vector<std::string> states;
  for (const std::string threads : {"1", "2"}) {
    std::vector<std::string> words{"run", file.string(), "--json", "--threads", threads};
    if (threads == "1") words.insert(words.end(), {"--trace", "events", "--force", "--out", record.string()});
    const std::optional<int> status = run_psim(std::move(words), out, log, limit, interrupted);
    if (interrupted != 0) return {.outcome = "interrupted", .failure = {}, .detail = {}};
    if (const auto bad = bad_end(status, log, limit)) return *bad;
    summary = Json::parse(read_file(out), nullptr, false);
    if (summary.is_discarded()) return failed("no document", read_file(out));
    if (threads == "1") states = summary.value("reached_states", states);
    const std::string now = summary["digest"];
    if (!digest.empty() && now != digest)
      return failed("two digests", fmt::format("{} with one thread, {} with two", digest, now));
    digest = now;
  }
  const std::optional<int> verified =
      run_psim({"verify", record.string(), "--json"}, out, log, limit, interrupted);
  if (interrupted != 0) return {.outcome = "interrupted", .failure = {}, .detail = {}};
  if (const auto bad = bad_end(verified, log, limit)) return *bad;
  if (WEXITSTATUS(*verified) != done) return broken_promise(Json::parse(read_file(out)));
  const std::string outcome = outcome_of(summary, loaded->scenario);
  const std::string stuck = summary["stuck"].empty() ? "" : summary["stuck"][0].get<std::string>();
  if (!stuck.empty() && fuzz::must_end(loaded->scenario))
    return failed(outcome + " though all is well again", stuck);
  return {.outcome = outcome, .failure = {}, .detail = stuck, .states = std::move(states)};
}

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

#include "sim/study/make.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "analysis/causes/explain.hpp"
#include "model/base/memory.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::study {
namespace {

// Estimates the remaining time from the time of the finished runs and the expected time of each run.
class Outlook {
 public:
  explicit Outlook(double expected) : expected_(expected) {}
  void add(double seconds) { done_ += seconds; }
  double seconds_to_go() const {
    return done_ > 0 ? (host_seconds() - begin_) * (expected_ - done_) / done_ : 0;
  }

 private:
  double expected_, done_ = 0, begin_ = host_seconds();
};

// Runs with an outdated or damaged folder, by reason.
class ToBeMadeAgain {
 public:
  void add(const std::string& why, const std::string& folder) { folders_[why].push_back(folder); }
  void say_so(Watcher& watcher) const {
    for (const auto& [why, folders] : folders_) {
      const std::string more = folders.size() > 1 ? fmt::format(" and {} more", folders.size() - 1) : "";
      watcher.note(fmt::format("{}/{} computed again: {}\n", folders.front(),
                               more.empty() ? " is" : more + " are", why));
    }
  }

 private:
  std::map<std::string, std::vector<std::string>> folders_;
};

// The runs to make, each scenario once. If runs are recorded, sets their folders.
std::vector<PlannedRun*> runs_to_make(const MakeOptions& options, Plan& plan,
                                      const std::vector<std::size_t>& numbers, const ResultStore& store) {
  const bool records = options.request.trace != "none";
  std::vector<PlannedRun*> left;
  std::set<std::string> seen;
  ToBeMadeAgain again;
  if (options.is_kept) sweep_partial_runs(options.dir / "runs");
  for (const std::size_t number : numbers) {
    PlannedRun& run = plan.runs[number];
    if (!seen.insert(run.hash).second) continue;
    bool is_there = store.has && store.has(run) && !options.request.force;
    run.request.out.clear();
    if (records) {
      const fs::path folder = options.dir / "runs" / fmt::format("{}-{}", plan.name, run.hash.substr(0, 8));
      run.request.out = folder.string();
      const Finished found = finished_run(folder, run.hash, options.request.trace);
      if (!found.why_not.empty()) again.add(found.why_not, folder.string());
      if (!found.summary || options.request.force) check_target(folder);
      is_there = is_there && found.summary.has_value();
    }
    if (!is_there) left.push_back(&run);
  }
  again.say_so(options.watcher);
  return left;
}

// The size of a record grows with the length of its run, and psim reads the whole record back.
constexpr double longest_explained = 4;      // seconds of a core
constexpr std::size_t most_explained = 100;  // runs of a study
constexpr double bytes_of_record = 2e8;      // in memory, for each of these seconds

void choose_explained(Plan& plan) {
  std::map<std::pair<std::string, std::vector<std::string>>, PlannedRun*> firsts;
  for (PlannedRun& run : plan.runs) {
    PlannedRun*& first = firsts.try_emplace({run.arm, run.condition}, &run).first->second;
    if (run.seed < first->seed) first = &run;
  }
  std::set<std::string> explained;  // an axis without effect gives the same run several times
  for (const auto& [cell, first] : firsts) {
    if (first->seconds <= longest_explained) explained.insert(first->hash);
  }
  if (explained.size() > most_explained) return;  // the study sweeps over many values
  for (PlannedRun& run : plan.runs) {
    if (!explained.contains(run.hash)) continue;
    run.is_explained = true;
    run.bytes += bytes_of_record * run.seconds;
  }
}

// The number of runs at the same time: as requested, or one per core, but not more than fit into memory.
unsigned jobs_of(const MakeOptions& options, const std::vector<PlannedRun*>& runs) {
  const Request& request = options.request;
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned asked =
      std::min(request.jobs > 0 ? request.jobs : cores, static_cast<unsigned>(runs.size()));
  double largest = 1;
  for (const PlannedRun* run : runs) largest = std::max(largest, run->bytes);
  const double room = std::max(1.0, static_cast<double>(available_memory()) / largest);
  if (request.force || asked <= room) return asked;
  options.watcher.note(fmt::format("note: memory is enough for {:.0f} of these runs at once, not for {}\n",
                                   std::floor(room), asked));
  return static_cast<unsigned>(room);
}

std::string what_is_done(const MakeOptions& options, std::size_t finished, std::size_t total) {
  const std::string done = fmt::format("interrupted: {} of {} finished", finished,
                                       counted(static_cast<std::int64_t>(total), "run"));
  if (!options.is_kept) return done + ", and not kept; --out DIR would keep them";
  return done + (options.request.force ? "; the same command without --force continues"
                                       : "; the same command continues");
}

}  // namespace

ResultStore store_in(Journal& journal) {
  return {.has = [&journal](const PlannedRun& run) { return journal.find(run.hash) != nullptr; },
          .on_result =
              [&journal](const PlannedRun& run, const RunAnswer& answer) {
                // A run with a summary counts as made, so the cause is written first.
                if (!answer.cause.empty()) journal.add_cause(run.hash, answer.cause);
                journal.add(run.hash, answer.summary);
              }};
}

std::size_t make_runs(const MakeOptions& options, Plan& plan, const std::vector<std::size_t>& numbers,
                      const ResultStore& store, const InterruptsHeld& interrupts) {
  if (options.explains) choose_explained(plan);
  std::vector<PlannedRun*> runs = runs_to_make(options, plan, numbers, store);
  if (runs.empty()) return 0;
  std::ranges::stable_sort(runs, std::ranges::greater{}, &PlannedRun::seconds);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned jobs = jobs_of(options, runs);
  double expected = 0;
  for (const PlannedRun* run : runs) expected += run->seconds;
  const std::size_t there = numbers.size() - runs.size();
  Outlook outlook(expected);
  std::size_t made = 0;
  const Execution how{
      .jobs = jobs,
      .threads = options.request.threads > 0 ? options.request.threads : std::max(1U, cores / jobs),
      .on_result =
          [&](const PlannedRun& run, const RunAnswer& answer) {
            store.on_result(run, answer);
            outlook.add(run.seconds);
            ++made;
          },
      .on_progress =
          [&](std::size_t finished) {
            options.watcher.on_progress(there + finished, numbers.size(), outlook.seconds_to_go());
          }};
  try {
    execute(runs, how, interrupts);
  } catch (const Interrupted& interrupt) {
    throw Interrupted{interrupt.signal, what_is_done(options, there + made, numbers.size())};
  }
  options.watcher.on_end();
  return runs.size();
}

namespace {

// What took the time of the recorded run, up to the target if the run reached it. Empty if unknown.
std::string cause_in(const fs::path& folder, const Json& summary) try {
  using What = analysis::Until::What;
  const analysis::RunRecord record(folder);
  const bool has_reached = summary["target"]["given"].get<bool>() && !misses_target(summary);
  const analysis::Explanation why = analysis::explain(record, {has_reached ? What::target : What::end});
  return analysis::short_document(why, record.facts).dump();
} catch (const std::exception&) {
  return "";
}

// In a copy of the planner's process.
RunAnswer make_run(PlannedRun& run, unsigned threads) {
  RunRequest request = run.request;
  request.threads = threads;
  const bool is_read_again = !run.loaded || run.lacks_data;
  if (!run.loaded) {
    run.loaded = load_for_run(request);
  } else if (run.lacks_data) {
    Diagnostics none;
    load_data_again(*run.loaded, load_request(request, none));
  }
  const LoadedScenario& loaded = *run.loaded;
  if (is_read_again && scenario_hash(loaded) != run.hash)
    throw Refused("the scenario or its data changed during the study",
                  "do not change them until all runs are done");
  std::optional<ScratchFolder> scratch;
  if (run.is_explained && request.out.empty()) {
    scratch.emplace("psim-study");
    request.out = (scratch->path() / "run").string();
    request.trace = "events";
  }
  const Json summary = make_and_record(
      request, loaded, identity_of(loaded.scenario, scenario_name(request.scenario), run.hash));
  const bool is_recorded = run.is_explained && request.trace == "events";
  return {.summary = summary.dump(), .cause = is_recorded ? cause_in(request.out, summary) : ""};
}

class Children {
 public:
  explicit Children(const Execution& how) : how_(how) {}
  ~Children() {
    for (const auto& [child, run] : running_) kill(child, SIGTERM);
    for (const auto& [child, run] : running_) {
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    }
    if (!running_.empty()) sweep_scratch();  // the records of runs that were stopped
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::size_t size() const { return running_.size(); }

  void start(PlannedRun& run) {
    ForkedRun forked([&] { return make_run(run, how_.threads); });
    const pid_t child = forked.process();
    running_.emplace(child, Running{&run, std::move(forked)});
  }

  enum class Taken { nothing, a_run, again };
  // Takes the result of a run that has ended, if any. Throws if the run failed. If it failed because of its
  // record, or was killed because the record needed too much memory, the run is made again without a record.
  Taken take_one() {
    int status = 0;
    const auto found = running_.find(waitpid(-1, &status, WNOHANG));
    if (found == running_.end()) return Taken::nothing;
    const Running ended = std::move(found->second);
    running_.erase(found);
    const RunAnswer answer = ended.forked.answer(status);
    // A full disk may be the fault of the record in a temporary folder: the run may succeed without.
    const bool has_scratch = ended.run->is_explained && ended.run->request.out.empty();
    const bool is_killed = ended.run->is_explained && answer.status == RunStatus::killed;
    const bool has_failed = answer.status == RunStatus::refused || answer.status == RunStatus::no_memory ||
                            answer.status == RunStatus::failed;
    if (is_killed || (has_scratch && has_failed)) {
      ended.run->is_explained = false;
      start(*ended.run);
      return Taken::again;
    }
    if (answer.status == RunStatus::refused) throw Invalid{answer.why};
    if (answer.status != RunStatus::done)
      throw std::runtime_error(
          fmt::format("a run failed: {}\n{}", command_line(ended.run->request), answer.why));
    how_.on_result(*ended.run, answer);
    ended.run->loaded.reset();  // the next copies of this process are smaller
    return Taken::a_run;
  }

 private:
  struct Running {
    PlannedRun* run;
    ForkedRun forked;
  };
  const Execution& how_;
  std::map<pid_t, Running> running_;
};

}  // namespace

void execute(const std::vector<PlannedRun*>& runs, const Execution& how, const InterruptsHeld& interrupts) {
  std::fflush(nullptr);  // otherwise every copy would print the buffered text, too
  Children children(how);
  auto next = runs.begin();
  std::size_t finished = 0;
  while (next != runs.end() || children.size() > 0) {
    how.on_progress(finished);
    if (const int signal = interrupts.pending(); signal != 0) throw Interrupted{signal, ""};
    if (next != runs.end() && children.size() < how.jobs) {
      children.start(**next++);
      continue;
    }
    switch (children.take_one()) {
      case Children::Taken::a_run: ++finished; break;
      case Children::Taken::nothing: interrupts.wait(); break;
      case Children::Taken::again: break;
    }
  }
  how.on_progress(finished);
}

}  // namespace psim::study

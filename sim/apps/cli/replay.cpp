// psim replay: makes a finished run or study again and compares the two.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "analysis/run_files.hpp"
#include "analysis/study/report.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/request.hpp"
#include "sim/simulation.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/make.hpp"
#include "sim/study/tuning.hpp"

namespace psim::cli {
namespace {

// Compares a run with a recorded run, event by event, and remembers the first event that differs.
class Comparer final : public EventSink {
 public:
  explicit Comparer(const RecordedRun& recorded) : recorded_(recorded) {}
  void on(const Event& event, std::uint64_t hash) override {
    const auto number = static_cast<std::size_t>(count_++);
    if (different_) return;
    if (number < recorded_.hashes.size() && recorded_.hashes[number] == static_cast<std::uint32_t>(hash))
      return;
    different_ = count_ - 1;
    now_ = to_string(event);
  }
  // Empty if all events are equal.
  std::string report() const {
    const auto recorded_count = static_cast<std::int64_t>(recorded_.hashes.size());
    if (!different_ && count_ == recorded_count) return "";
    if (!different_)
      return fmt::format("the events are equal, but the recorded run has {} more after number {}\n",
                         recorded_count - count_, count_ - 1);
    std::string out = fmt::format("first event that differs: number {}\n  now:      {}\n", *different_, now_);
    if (*different_ >= recorded_count) return out + "  recorded: the run had ended\n";
    const std::optional<Event> before = recorded_.event(*different_);
    return out + fmt::format("  recorded: {}\n",
                             before ? to_string(*before)
                                    : "a different event (record with --trace events to see it)");
  }

 private:
  const RecordedRun& recorded_;
  std::int64_t count_ = 0;
  std::optional<std::int64_t> different_;
  std::string now_;
};

// Prints the first difference, if any, and returns the exit code.
int verdict(const FinishedRun& run, const LoadedScenario& loaded, const Comparer& comparer, const Json& now) {
  const DigestPromise promise = promise_on_digest(loaded, run.summary, now);
  const std::string digest = now["digest"], recorded_digest = value_of(run.recorded.meta, "digest");
  std::string difference = comparer.report();
  if (difference.empty() && digest != recorded_digest)
    difference = "all events are equal; the final weights differ\n";
  if (!difference.empty()) {
    fmt::print("different run: digest {}, recorded {}\n{}{}\n{}\n{}", digest, recorded_digest, difference,
               promise.rule, promise.verdict(), notes_on_program(run.summary, now));
    return answer_is_no;
  }
  const std::string notes = promise.rule + "\n" + notes_on_program(run.summary, now);
  const bool is_own = run.summary.value("build", "") == now.value("build", "");
  difference = is_own ? first_difference(run.summary, now)
                      : first_difference(without_program(run.summary), without_program(now));
  if (difference.empty()) {
    const std::string broken = analysis::broken_seal(run.path);
    if (!broken.empty()) difference = fmt::format("the events and the summary are equal, but {}\n", broken);
  }
  if (!difference.empty()) {
    fmt::print("same events, different record: digest {}\n{}{}", digest, difference, notes);
    return answer_is_no;
  }
  fmt::print("same run: digest {} ({} events), as in {}/\n{}", digest, now["events"].get<std::int64_t>(),
             fs::canonical(run.path).lexically_proximate(fs::current_path()).string(), notes);
  return done;
}

// The plan that this program makes for the study in the folder.
study::Plan plan_again(const study::StudyFolder& folder, const Command& command) {
  const Json tuning = folder.manifest.value("tuning", Json());
  study::Plan plan =
      study::plan_study(command, true, tuning.is_null() ? study::Variants{} : study::tuned_variants(tuning));
  const Json& runs = folder.manifest["runs"];
  const bool is_same =
      plan.runs.size() == runs.size() &&
      std::ranges::equal(plan.runs, runs, [](const study::PlannedRun& now, const Json& then) {
        return then["arm"] == now.arm && then["seed"] == now.seed;
      });
  if (!is_same)
    throw Refused(fmt::format("{} does not belong to the manifest next to it", command.scenario),
                  "one of the two files has changed, or another version of psim wrote them");
  return plan;
}

// psim's promise about the run's digest. Empty if the scenario no longer loads.
std::optional<DigestPromise> promise_on(const study::PlannedRun& run, const Json& then, const Json& now) {
  if (run.loaded) return promise_on_digest(*run.loaded, then, now);
  Diagnostics diagnostics;
  LoadRequest request = load_request(run.request, diagnostics);
  request.without_data = true;
  const std::optional<LoadedScenario> loaded = load_scenario(request, diagnostics);
  if (!loaded) return std::nullopt;
  return promise_on_digest(*loaded, then, now);
}

class Differences {
 public:
  void compare(const study::PlannedRun& run, const Json& then, const Json& now) {
    if (notes_.empty()) notes_ = notes_on_program(then, now);
    const std::optional<DigestPromise> promise = promise_on(run, then, now);
    if (promise) rules_.insert(promise->rule + "\n");
    const std::string difference = first_difference(without_program(then), without_program(now));
    if (difference.empty()) {
      ++same_;
      return;
    }
    ++different_;
    constexpr std::size_t most = 5;
    if (different_ <= most)
      text_ += fmt::format("different run: {}\n{}{}", command_line(run.request), difference,
                           promise ? promise->verdict() + "\n" : "");
  }
  int report(const study::StudyFolder& folder) const {
    fmt::print("{} of {} runs are the same as in {}/\n{}{}{}", same_, same_ + different_, folder.dir.string(),
               text_, fmt::join(rules_, ""), notes_);
    return different_ == 0 ? done : answer_is_no;
  }

 private:
  std::size_t same_ = 0, different_ = 0;
  std::string text_, notes_;
  std::set<std::string> rules_;  // the promises of all runs, a line each
};

// Makes the trials of [tune] again, and chooses settings by the recorded results.
void replay_trials(const study::StudyFolder& folder, const Command& command, const study::Journal& recorded,
                   Differences& differences, study::Watcher& watcher, const InterruptsHeld& interrupts) {
  const study::Plan base = study::plan_study(command, false);
  if (!base.tune)
    throw Refused(fmt::format("{} has no [tune], but the manifest next to it has trials", command.scenario),
                  "one of the two files has changed");
  std::set<std::string> made;  // a round of halving repeats the runs of the round before
  const auto again = [&](study::Plan& trials) -> std::optional<analysis::Study> {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < trials.runs.size(); ++i) {
      const std::string& hash = trials.runs[i].hash;
      if (recorded.find(hash) == nullptr)
        throw Refused(fmt::format("{} has no result of the trial `{}`", folder.dir.string(),
                                  command_line(trials.runs[i].request)),
                      "its files have changed, or another version of psim wrote them");
      if (made.insert(hash).second) numbers.push_back(i);
    }
    const auto on_result = [&](const study::PlannedRun& run, const RunAnswer& answer) {
      differences.compare(run, study::summary_of(*recorded.find(run.hash), run.hash),
                          Json::parse(answer.summary));
    };
    study::make_runs({.dir = folder.dir, .request = command, .watcher = watcher, .is_kept = false}, trials,
                     numbers, {.on_result = on_result}, interrupts);
    return study::results_of(manifest_of(trials, command, ""), recorded);
  };
  study::tune(command, *base.tune, again);
}

// Prints the number of equal runs, and the first differences. Returns the exit code.
int replay_study(const fs::path& dir, const Command& given) {
  const study::StudyFolder folder(dir);
  const study::Journal recorded(dir, study::Journal::Builds::any);
  say_what_is_not_read(dir, recorded);
  if (!missing_runs(folder, recorded).empty())
    throw Refused(fmt::format("{} is not complete", dir.string()), "psim merge lists the missing runs");
  Command asked = folder.request(given);
  asked.trace = "none";  // keeps no records
  study::Plan plan = plan_again(folder, asked);
  const std::vector<std::string> hashes = folder.hashes();
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) numbers.push_back(i);
  Differences differences;
  std::set<std::string> seen;
  StudyProgress watcher;
  const InterruptsHeld interrupts;
  if (folder.manifest.contains("tuning"))
    replay_trials(folder, asked, recorded, differences, watcher, interrupts);
  const auto on_result = [&](const study::PlannedRun& run, const RunAnswer& answer) {
    const auto number = static_cast<std::size_t>(&run - plan.runs.data());
    differences.compare(run, study::summary_of(*recorded.find(hashes[number]), hashes[number]),
                        Json::parse(answer.summary));
  };
  study::make_runs({.dir = dir, .request = asked, .watcher = watcher, .is_kept = false}, plan, numbers,
                   {.on_result = on_result}, interrupts);
  const analysis::Study study = study::results_of(folder.manifest, recorded);
  const std::string width = analysis::width_line(study, analysis::evaluate(study));
  const int code = differences.report(folder);
  if (!width.empty()) fmt::print("{}\n", width);
  return code;
}

}  // namespace

int replay(const std::string& name, const Command& command) {
  const std::string directory = run_or_study(name).string();
  if (study::is_study(directory)) return replay_study(directory, command);
  const unsigned threads = command.threads;
  const FinishedRun run = open_run(directory);
  const LoadedScenario loaded = load_again(run);
  Comparer comparer(run.recorded);
  Progress progress(loaded);
  const RunResult result =
      simulate(loaded, {.threads = thread_count(threads), .context = {}}, {&comparer, &progress});
  progress.erase();
  // A scenario has the name of its file. Only run.db knows this name.
  const RunIdentity identity = identity_of(loaded, value_of(run.recorded.meta, "scenario"));
  return verdict(run, loaded, comparer, Json::parse(make_summary(identity, loaded.scenario, result).dump()));
}

}  // namespace psim::cli

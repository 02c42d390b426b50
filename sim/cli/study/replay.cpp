#include "sim/cli/study/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

#include "analysis/study/report.hpp"
#include "sim/cli/differences.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/study/folder.hpp"
#include "sim/cli/study/make.hpp"
#include "sim/cli/study/report.hpp"
#include "sim/cli/study/summary_check.hpp"
#include "sim/cli/study/tuning.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

// What makes the study's runs, with its own copy of the scenario.
Command command_of(const StudyFolder& folder, const Command& asked) {
  Command command = asked;
  command.trace = "none";  // nothing is kept
  command.scenario = (folder.dir / (folder.manifest["name"].get<std::string>() + ".toml")).string();
  for (const Json& dir : folder.manifest["data_dirs"]) {
    if (fs::is_directory(dir.get<std::string>())) command.data_dirs.push_back(dir);
  }
  return command;
}

// The plan of the study in the folder, as this program makes it.
Plan plan_again(const StudyFolder& folder, const Command& command) {
  const Json tuning = folder.manifest.value("tuning", Json());
  Plan plan = plan_study(command, true, tuning.is_null() ? Variants{} : tuned_variants(tuning));
  const Json& runs = folder.manifest["runs"];
  const bool is_same = plan.runs.size() == runs.size() &&
                       std::ranges::equal(plan.runs, runs, [](const PlannedRun& now, const Json& then) {
                         return then["arm"] == now.arm && then["seed"] == now.seed;
                       });
  if (!is_same)
    throw Refused(fmt::format("{} is not the study of the manifest beside it", command.scenario),
                  "somebody has changed one of them, or another version of psim wrote them");
  return plan;
}

class Differences {
 public:
  void compare(const PlannedRun& run, const Json& then, const Json& now) {
    if (notes_.empty()) notes_ = notes_on_program(then, now);
    const std::string difference = first_difference(without_program(then), without_program(now));
    if (difference.empty()) {
      ++same_;
      return;
    }
    ++different_;
    constexpr std::size_t most = 5;
    if (different_ <= most)
      text_ += fmt::format("different run: {}\n{}", replay_line(run.command), difference);
  }
  int report(const StudyFolder& folder) const {
    fmt::print("{} of {} runs are the same as in {}/\n{}{}", same_, same_ + different_, folder.dir.string(),
               text_, notes_);
    return different_ == 0 ? done : answer_is_no;
  }

 private:
  std::size_t same_ = 0, different_ = 0;
  std::string text_, notes_;
};

}  // namespace

bool is_study(const fs::path& dir) { return fs::exists(dir / "manifest.json"); }

namespace {

// Makes the trials of [tune] again, and chooses by what was recorded of them.
void replay_trials(const StudyFolder& folder, const Command& command, const Journal& recorded,
                   Differences& differences, const InterruptsHeld& interrupts) {
  const Plan base = plan_study(command, false);
  if (!base.tune)
    throw Refused(fmt::format("{} has no [tune], and the manifest beside it has trials", command.scenario),
                  "somebody has changed one of them");
  std::set<std::string> made;  // a round of halving has the runs of the one before
  const auto again = [&](Plan& trials) -> std::optional<analysis::Study> {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < trials.runs.size(); ++i) {
      const std::string& hash = trials.runs[i].hash;
      if (recorded.find(hash) == nullptr)
        throw Refused(fmt::format("{} has no result of the trial `{}`", folder.dir.string(),
                                  replay_line(trials.runs[i].command)),
                      "somebody has changed its files, or another version of psim wrote them");
      if (made.insert(hash).second) numbers.push_back(i);
    }
    const auto on_result = [&](const PlannedRun& run, const RunAnswer& answer) {
      differences.compare(run, summary_of(*recorded.find(run.hash), run.hash), Json::parse(answer.summary));
    };
    make_runs({.dir = folder.dir, .command = command, .is_kept = false}, trials, numbers,
              {.on_result = on_result}, interrupts);
    return results_of(manifest_of(trials, command, ""), recorded);
  };
  tune(command, *base.tune, again);
}

}  // namespace

int replay_study(const fs::path& dir, const Command& given) {
  const StudyFolder folder(dir);
  const Journal recorded(dir, Journal::Builds::any);
  say_what_is_not_read(dir, recorded);
  if (!missing_runs(folder, recorded).empty())
    throw Refused(fmt::format("{} is not complete", dir.string()), "psim merge says what is missing");
  const Command asked = command_of(folder, given);
  Plan plan = plan_again(folder, asked);
  const std::vector<std::string> hashes = folder.hashes();
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) numbers.push_back(i);
  Differences differences;
  std::set<std::string> seen;
  const InterruptsHeld interrupts;
  if (folder.manifest.contains("tuning")) replay_trials(folder, asked, recorded, differences, interrupts);
  const auto on_result = [&](const PlannedRun& run, const RunAnswer& answer) {
    const auto number = static_cast<std::size_t>(&run - plan.runs.data());
    differences.compare(run, summary_of(*recorded.find(hashes[number]), hashes[number]),
                        Json::parse(answer.summary));
  };
  make_runs({.dir = dir, .command = asked, .is_kept = false}, plan, numbers, {.on_result = on_result},
            interrupts);
  const analysis::Study study = results_of(folder.manifest, recorded);
  const std::string width = analysis::width_line(study, analysis::evaluate(study));
  const int code = differences.report(folder);
  if (!width.empty()) fmt::print("{}\n", width);
  return code;
}

}  // namespace psim::cli

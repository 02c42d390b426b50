// [tune]: every arm gets the fields that suit it best, found with equal effort for each arm, on seeds and
// samples that the comparison itself does not see.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/study.hpp"
#include "sim/scenario/tune.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// The axis that trials have beside the study's own.
inline constexpr const char* setting_axis = "setting";

// Makes a plan's runs; nothing where some are other slices' and not there yet.
using MakeTrials = std::function<std::optional<analysis::Study>(Plan&)>;

// What was found for an arm under a condition.
struct Tuned {
  std::string arm;
  std::vector<std::string> condition;
  TuneSetting setting;
  double score = 0;                  // as measured; infinite where a run has no value
  std::vector<std::string> at_edge;  // fields whose best value is the first or the last of those tried
};

// A setting that was tried for an arm under a condition.
struct Tried {
  std::string arm;
  std::vector<std::string> condition;
  TuneSetting setting;
  double score = 0;       // with the seeds of its last round
  std::size_t seeds = 0;  // of that round
  std::size_t rung = 0;   // its last round, from 1
  bool chosen = false;
};

struct Tuning {
  std::vector<Tuned> cells;
  std::vector<Tried> tried;
  std::vector<PlannedRun> trials;  // without what they have loaded
  double simulated_seconds = 0;    // of all trials

  // For manifest.json and study.json.
  Json document(const TuneSpec& spec) const;
};

// The study with each arm as the scenario has it, and tuned. `tuning`: a document of what was found.
Variants tuned_variants(const Json& tuning);

// Nothing where `make` says so.
std::optional<Tuning> tune(const Request& request, const TuneSpec& spec, const MakeTrials& make);

// Trials that are made together, of every cell: so many settings, each with the first seeds of [tune].
struct TrialRound {
  std::size_t settings = 0, seeds = 0;
};
std::vector<TrialRound> rounds_of(const TuneSpec& spec);

// How many runs a study has: the same wherever psim says it.
struct RunCount {
  std::size_t runs = 0;    // of the study itself: with [tune], each arm as it is, and tuned
  std::size_t trials = 0;  // of [tune]
};
RunCount count_of(const Plan& plan);
// "8 runs", "32 runs (24 trials of [tune] and 8 of the study)"
std::string text_of(const RunCount& count);

// What a study takes with its trials. Slices that do not wait for each other make it in `rounds`: each of
// trials needs the results of the one before, and the study those of the last.
struct Effort {
  std::size_t runs = 0, rounds = 1;
  double times = 1, largest = 1;  // the time of the plan's own runs: in all, and in the longest round
};
Effort effort_of(const Plan& plan);

}  // namespace psim::study

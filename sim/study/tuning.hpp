// [tune] finds the best values of some fields for each arm, with equal effort, on seeds and samples that the
// comparison does not use.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/study.hpp"
#include "sim/scenario/tune.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// The additional axis of trials.
inline constexpr const char* setting_axis = "setting";

// Makes a plan's runs. Returns nothing if runs of other slices are still missing.
using MakeTrials = std::function<std::optional<analysis::Study>(Plan&)>;

// The result of tuning for an arm under a condition.
struct Tuned {
  std::string arm;
  std::vector<std::string> condition;
  TuneSetting setting;
  double score = 0;                  // as measured; infinite if a run has no value
  std::vector<std::string> at_edge;  // fields whose best value is the first or last value tried
};

// A setting tried for an arm under a condition.
struct Tried {
  std::string arm;
  std::vector<std::string> condition;
  TuneSetting setting;
  double score = 0;       // over the seeds of its last round
  std::size_t seeds = 0;  // in that round
  std::size_t rung = 0;   // its last round, from 1
  bool chosen = false;
};

struct Tuning {
  std::vector<Tuned> cells;
  std::vector<Tried> tried;
  std::vector<PlannedRun> trials;  // without loaded data
  double simulated_seconds = 0;    // of all trials

  // For manifest.json and study.json.
  Json document(const TuneSpec& spec) const;
};

// Each arm of the study twice: as in the scenario, and tuned. `tuning`: the document of the result.
Variants tuned_variants(const Json& tuning);

// Returns nothing if `make` returns nothing.
std::optional<Tuning> tune(const Request& request, const TuneSpec& spec, const MakeTrials& make);

// Trials of one round in every cell: `settings` settings, each with the first `seeds` seeds of [tune].
struct TrialRound {
  std::size_t settings = 0, seeds = 0;
};
std::vector<TrialRound> rounds_of(const TuneSpec& spec);

// The number of runs of a study, for all places that print it.
struct RunCount {
  std::size_t runs = 0;    // of the study itself: with [tune], each arm untuned and tuned
  std::size_t trials = 0;  // of [tune]
};
RunCount count_of(const Plan& plan);
// "8 runs", "32 runs (24 trials of [tune] and 8 of the study)"
std::string text_of(const RunCount& count);

// The effort of a study and its trials. Slices that do not wait for each other need `rounds` rounds: each
// round of trials needs the results of the round before, and the study needs those of the last round.
struct Effort {
  std::size_t runs = 0, rounds = 1;
  double times = 1, largest = 1;  // time of all rounds and of the longest, in times of the plan's runs
};
Effort effort_of(const Plan& plan);

// psim compare --until-ci: chooses the number of seeds.

// The seeds that the study needs so that the interval of every arm's ratio to the baseline has at most this
// half-width, as a share of the ratio. Ten seeds decide once (statistics/paired_comparison.hpp): a check
// after every seed would stop at an interval that is narrow by chance.
//
// `make` makes all runs of a plan and returns their results. Throws Refused if no feasible number of seeds is
// enough.
struct EnoughSeeds {
  Request request;  // with the seeds that it needs
  Json record;      // the requested width and the decision, for the manifest
};
EnoughSeeds with_enough_seeds(const Request& request, double half_width, const Variants& variants,
                              const std::function<analysis::Study(Plan&)>& make);

}  // namespace psim::study

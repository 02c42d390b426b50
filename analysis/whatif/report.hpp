// The answers of `psim what-if`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/whatif/predict.hpp"

namespace psim::analysis {

// A run with the change, with the same random streams.
struct Rerun {
  Actual actual;
  std::optional<double> loss, accuracy;  // with the last weights; a phantom model has none
  std::optional<bool> reached;           // whether it reached the target; none: no target
  bool is_stuck = false;
};

struct Outcome {
  Change change = {};
  std::vector<std::string> sets = {};        // KEY=VALUE: the fields that the re-run changes
  std::string no_rerun = {};                 // why no re-run is possible; empty: it is possible
  std::optional<double> predicted = {};      // seconds until the same steps are done
  std::optional<Rerun> rerun = {};           // none: not made
  std::optional<SameSteps> same_steps = {};  // of the re-run
  std::optional<double> error = {};          // of the prediction, as a share
  // Seconds for the same work as the run: measured in the re-run, otherwise predicted.
  std::optional<double> same_work() const;
};

struct WhatIf {
  double original = 0;  // seconds; of a stuck run: until its last event
  Rerun as_it_was;
  double replay_error = 0;  // of the graph without a change, as a share
  std::vector<Outcome> outcomes;
  std::optional<Attribution> attribution;
  std::vector<std::string> unpredictable = {};  // further changes that only another run can answer
};

// `record`: of a re-run, or of the run itself.
Rerun rerun_of(const RunRecord& record, const CausalGraph& graph);

// For people. `width`: columns of the terminal.
std::string text(const WhatIf& what_if, const Facts& facts, std::size_t width);
// "psim.what-if/1"
Json document(const WhatIf& what_if);

}  // namespace psim::analysis

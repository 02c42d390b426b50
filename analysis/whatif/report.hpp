// What came of asking what a change would have changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/whatif/predict.hpp"

namespace psim::analysis {

// A run with the change, made from the same streams.
struct Rerun {
  Actual actual;
  std::optional<double> loss, accuracy;  // of the last weights; a phantom has none
  std::optional<bool> reached;           // the target; none: there is none
  bool is_stuck = false;
};

struct Outcome {
  Change change = {};
  std::vector<std::string> sets = {};        // KEY=VALUE: what the re-run has otherwise
  std::string no_rerun = {};                 // why there can be none; empty: there can
  std::optional<double> predicted = {};      // seconds until as much is done
  std::optional<Rerun> rerun = {};           // none: it was not made
  std::optional<SameSteps> same_steps = {};  // of the re-run
  std::optional<double> error = {};          // of the prediction, as a share
  // For as much work as the run did: of the re-run, or else predicted.
  std::optional<double> same_work() const;
};

struct WhatIf {
  double original = 0;  // seconds; a stuck run's until nothing went on
  Rerun as_it_was;
  double replay_error = 0;  // of the unchanged graph, as a share
  std::vector<Outcome> outcomes;
  std::optional<Attribution> attribution;
  std::vector<std::string> unpredictable = {};  // further changes, which only another run can tell of
};

// A re-run's record, or the run's own.
Rerun rerun_of(const RunRecord& record, const CausalGraph& graph);

// For people. `width`: columns of the terminal.
std::string text(const WhatIf& what_if, const Facts& facts, std::size_t width);
// "psim.what-if/1"
Json document(const WhatIf& what_if);

}  // namespace psim::analysis

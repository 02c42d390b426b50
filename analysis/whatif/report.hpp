// The answers of `psim what-if`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/causes/graph.hpp"
#include "analysis/run_record.hpp"
#include "analysis/whatif/change.hpp"

namespace psim::analysis {

// A run, or a re-run with a change: how far its workers came when, and how it ended.

// By worker: when it had computed each of its steps, in seconds, ascending.
class Progress {
 public:
  Progress() = default;
  // Only moments before `until` count.
  Progress(const CausalGraph& graph, const Facts& facts, double until);

  std::int64_t steps() const;  // of all workers
  // When all workers together had computed `steps` steps; infinity: never. The workers in `goes_on` continue
  // after the end of the run at their mean time per step.
  double date_of(std::int64_t steps, const std::vector<bool>& goes_on = {}) const;
  // By worker: whether it still computed when the run ended. Its last step must be at most four mean steps
  // old.
  std::vector<bool> going_on(double end) const;

 private:
  double pace(std::size_t worker) const;
  std::vector<std::vector<double>> dates_;
};

struct Rerun {
  Progress progress;
  bool is_finished = false;              // its workers finished; no target and no date ended it
  double end = 0;                        // seconds
  std::optional<double> loss, accuracy;  // with the last weights; a phantom model has none
  std::optional<bool> reached;           // whether it reached the target; none: no target
  bool is_stuck = false;
};

// `record`: of a re-run, or of the run itself.
Rerun rerun_of(const RunRecord& record, const CausalGraph& graph);

// The date when a re-run had computed as many steps as the run.
struct SameSteps {
  double seconds = 0;
  bool is_measured = true;  // false: it ended with fewer steps; its workers would continue at their pace
};
// None: the re-run would never get there.
std::optional<SameSteps> same_steps_of(const Rerun& original, const Rerun& rerun);

struct ChangeOutcome {
  Change change = {};
  std::vector<std::string> sets = {};        // KEY=VALUE: the fields that the re-run changes
  std::optional<Rerun> rerun = {};           // from the same random streams; none: not possible
  std::string no_rerun = {};                 // why not
  std::optional<SameSteps> same_steps = {};  // of the re-run; none: the run or the re-run got stuck
};

struct WhatIf {
  Rerun original;
  std::vector<ChangeOutcome> outcomes;
};

// For people. `width`: columns of the terminal.
std::string text(const WhatIf& what_if, const Facts& facts, std::size_t width);
// "psim.what-if/2"
Json document(const WhatIf& what_if);

}  // namespace psim::analysis

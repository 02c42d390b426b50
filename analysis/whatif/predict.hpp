// How long a run would have taken with something changed.
#pragma once

#include <optional>
#include <vector>

#include "analysis/whatif/change.hpp"
#include "analysis/whatif/dates.hpp"
#include "analysis/whatif/progress.hpp"

namespace psim::analysis {

struct Prediction {
  Progress progress;
  std::vector<bool> goes_on;  // by worker: it would compute more steps than the record has
  // Factor for dates that follow from steps, so that the last step of the unchanged run keeps its date.
  double scale = 1;
  double end = 0;  // seconds until the work of the run is done
};

// The course of a run, to compare it with a prediction.
struct Actual {
  Progress progress;
  bool is_finished = false;  // its workers finished; no target and no date ended it
  double end = 0;            // seconds
};

class Predictor {
 public:
  Predictor(const RunRecord& record, const CausalGraph& graph);

  const Actual& original() const { return original_; }
  bool is_stuck() const { return is_stuck_; }  // the run
  double replay_error() const { return replay_.error(); }
  // None: the record cannot tell what would happen.
  std::optional<Prediction> of(const Change& change) const;
  Prediction under(const Hypothesis& hypothesis) const;

 private:
  // Continues the pace that the run had before the first fault that the change removes.
  std::optional<Prediction> without_faults(const Change& change) const;

  const RunRecord& record_;
  const CausalGraph& graph_;
  Replay replay_;
  Actual original_;
  std::vector<bool> goes_on_;
  bool is_stuck_;
};

Actual actual(const RunRecord& record, const CausalGraph& graph);

// The error of a prediction, as a share of the time. If one of the two runs ended with fewer steps, both
// times are up to that number of steps. None: the runs have no steps in common.
std::optional<double> error_of(const Prediction& predicted, const Actual& original, const Actual& rerun);

// The date when a re-run had computed as many steps as the run. A prediction is about this date.
struct SameSteps {
  double seconds = 0;
  bool is_measured = true;  // false: it ended with fewer steps; its workers would continue at their pace
};
// None: the re-run would never get there.
std::optional<SameSteps> same_steps_of(const Actual& original, const Actual& rerun);

// The part of one worker in the slowdown. `removed`: the share of the slowdown that disappears if only this
// worker computes every step as fast as the median worker. `added`: the share that remains if all other
// workers do (Lin et al., OSDI 2025, 4).
struct Blamed {
  std::uint32_t worker = 0;
  double removed = 0, added = 0;
};
struct Attribution {
  double ideal = 0, slowdown = 1;  // seconds if every worker computes like the median one; total / ideal
  std::vector<Blamed> workers;  // only for a slowdown of at least `least_slowdown`; largest `removed` first
};
inline constexpr double least_slowdown = 1.03;
// None: the steps of the workers are not comparable, the run got stuck, or it has more than `most_blamed`
// workers. Each worker takes two passes over the graph.
inline constexpr std::uint32_t most_blamed = 64;
std::optional<Attribution> attribution_of(const RunRecord& record, const CausalGraph& graph,
                                          const Predictor& predictor);

}  // namespace psim::analysis

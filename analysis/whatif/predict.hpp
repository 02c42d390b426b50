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
  std::vector<bool> goes_on;  // by worker: it would compute more than the record has
  double scale = 1;           // of dates by steps, so that the unchanged run's last step ends when it did
  double end = 0;             // seconds until as much is done as the run did
};

// How a run went, for a comparison with a prediction.
struct Actual {
  Progress progress;
  bool is_finished = false;  // it ended when its workers were through, not by a target or a date
  double end = 0;            // seconds
};

class Predictor {
 public:
  Predictor(const RunRecord& record, const CausalGraph& graph);

  const Actual& original() const { return original_; }
  bool is_stuck() const { return is_stuck_; }  // the run
  double replay_error() const { return replay_.error(); }
  // None: the record does not say what would happen.
  std::optional<Prediction> of(const Change& change) const;
  Prediction under(const Hypothesis& hypothesis) const;

 private:
  // The run until the first of the faults that the change leaves out, and more of the same.
  std::optional<Prediction> without_faults(const Change& change) const;

  const RunRecord& record_;
  const CausalGraph& graph_;
  Replay replay_;
  Actual original_;
  std::vector<bool> goes_on_;
  bool is_stuck_;
};

Actual actual(const RunRecord& record, const CausalGraph& graph);

// By how much a prediction is off, as a share: of the time of the same number of steps where one of the two
// runs ended earlier in its work. None: they have nothing in common.
std::optional<double> error_of(const Prediction& predicted, const Actual& original, const Actual& rerun);

// When a re-run had done as much as the run: what a prediction is about.
struct SameSteps {
  double seconds = 0;
  bool is_measured = true;  // false: it ended with fewer steps, and its workers would go on at their pace
};
// None: it would never have.
std::optional<SameSteps> same_steps_of(const Actual& original, const Actual& rerun);

// Whose computing made the run slow. `removed`: the share of the slowdown that goes if this worker alone
// computes every step as fast as the median worker; `added`: that is left if all others do (Lin et al., OSDI
// 2025, 4).
struct Blamed {
  std::uint32_t worker = 0;
  double removed = 0, added = 0;
};
struct Attribution {
  double ideal = 0, slowdown = 1;  // seconds if every worker computes like the median one; total / ideal
  std::vector<Blamed> workers;     // from a slowdown of `least_slowdown` on; the most removed first
};
inline constexpr double least_slowdown = 1.03;
// None: the workers' steps are not alike, the run got stuck, or it has more than `most_blamed` workers: each
// takes two passes over the graph.
inline constexpr std::uint32_t most_blamed = 64;
std::optional<Attribution> attribution_of(const RunRecord& record, const CausalGraph& graph,
                                          const Predictor& predictor);

}  // namespace psim::analysis

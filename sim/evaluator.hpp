// Measures loss and accuracy of the servers' weights at chosen moments. An evaluation takes no simulated time
// and changes nothing: the same run without evaluations has the same digest.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "model/learner.hpp"
#include "sim/cluster/pool.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// A hash of all values: psim takes weights with the same hash for equal.
std::uint64_t hash_of(const Values& weights);

class Evaluator {
 public:
  // `set`: the samples that the evaluator uses.
  Evaluator(const Learner& learner, const Dataset& set, const Target& target, Pool& pool);

  // Adds a point to the curve and evaluates these weights for it. Returns true when the target is reached and
  // has been held for the required number of points. Only a target that stops the run gives this result at
  // once.
  bool evaluate(CurvePoint point, std::shared_ptr<Assembly> weights);

  // Waits for all open evaluations. Then the curve is complete.
  void finish();

  const std::deque<CurvePoint>& curve() const { return curve_; }
  // The first of `hold` successive points that all reach the target; null if there are no such points.
  const CurvePoint* reached() const;
  // The date of the point before reached().
  std::optional<double> last_miss() const;

 private:
  bool reaches(const Evaluation& evaluation) const;
  std::deque<CurvePoint>::const_iterator find_reached() const;

  const Learner& learner_;
  const Dataset& set_;
  Target target_;
  Pool& pool_;
  std::deque<CurvePoint> curve_;  // a deque: tasks write to elements while others are added
  std::deque<Pool::Handle> tasks_;
};

}  // namespace psim

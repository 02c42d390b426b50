// Loss and accuracy of the weights that the servers hold, at chosen moments. Evaluating takes no
// simulated time and changes nothing: the same run without it has the same digest.
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

// Of all values: weights with the same hash are the same.
std::uint64_t hash_of(const Values& weights);

class Evaluator {
 public:
  // `set`: what the weights are judged on.
  Evaluator(const Learner& learner, const Dataset& set, const Target& target, Pool& pool);

  // Takes a point with these weights. True when the target is reached, and has now been held as long as it
  // must be; known at once only when the target stops the run.
  bool evaluate(CurvePoint point, std::shared_ptr<Assembly> weights);

  // Waits for what is not computed yet. Then the curve is complete.
  void finish();

  const std::deque<CurvePoint>& curve() const { return curve_; }
  // The first point of the first row of `hold` points that reach the target; null: there is none.
  const CurvePoint* reached() const;
  // The date of the point before that one.
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

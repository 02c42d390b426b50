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

class Evaluator {
 public:
  // `set`: what the weights are judged on.
  Evaluator(const Learner& learner, const Dataset& set, const Target& target, Pool& pool);

  // Takes a point with these weights. True when the target is reached by it, for the first time;
  // known at once only when the target stops the run.
  bool evaluate(CurvePoint point, std::shared_ptr<Assembly> weights);

  // Waits for what is not computed yet. Then the curve is complete.
  void finish();

  const std::deque<CurvePoint>& curve() const { return curve_; }
  // The first point that reaches the target.
  const CurvePoint* reached() const;

 private:
  bool reaches(const Evaluation& evaluation) const;

  const Learner& learner_;
  const Dataset& set_;
  Target target_;
  Pool& pool_;
  std::deque<CurvePoint> curve_;  // a deque: tasks write to elements while others are added
  std::deque<Pool::Handle> tasks_;
};

}  // namespace psim

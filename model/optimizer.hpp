// How an aggregated gradient moves the weights. One rule a row; state lives beside the range that it
// belongs to, so a server updates its own part of the model alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/values.hpp"

namespace psim {

enum class OptimizerKind { sgd, momentum, nesterov, adagrad, rmsprop, adam };

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::sgd;
  double momentum = 0.9;      // momentum, nesterov: mu
  double decay = 0.9;         // rmsprop: rho
  double beta1 = 0.9;         // adam
  double beta2 = 0.999;       // adam
  double epsilon = 1e-8;      // adagrad, rmsprop, adam
  double weight_decay = 0.0;  // L2: weight_decay * w is added to the gradient
};

// One gradient of a group that is applied together, with its weight in the sum.
struct WeightedGradient {
  Slice gradient;
  double weight = 1.0;
};

class Optimizer {
 public:
  Optimizer() = default;
  Optimizer(const OptimizerSpec& spec, Precision precision, std::size_t size);

  // weights -= rate * rule(sum_i weight_i * gradient_i), added up in the order given. One step.
  void apply(Values& weights, std::span<const WeightedGradient> group, double rate);

  std::int64_t steps() const { return steps_; }

 private:
  OptimizerSpec spec_;
  std::vector<Values> state_;
  std::int64_t steps_ = 0;
};

enum class RateSchedule { constant, step, cosine, inverse_sqrt };

struct LearningRate {
  double base = 0.1;
  RateSchedule schedule = RateSchedule::constant;
  double step_every = 1;  // step: epochs between drops
  double step_factor = 0.1;
  double total_epochs = 1;  // cosine: falls to 0 at this epoch
  // The rate at a point of training, in epochs of the whole data set.
  double at(double epoch) const;
};

}  // namespace psim

// How an aggregated gradient moves the weights, by one of the rules of optimizer_rules.hpp. The state is
// stored with its range of weights, so a server updates its own part of the model alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/optimizer_rules.hpp"
#include "model/values.hpp"

namespace psim {

struct OptimizerSpec {
  OptimizerKind kind;
  Settings settings;          // of the kind
  double weight_decay = 0.0;  // L2: weight_decay * w is added to the gradient; not for an elastic net
  double l1 = 0.0;            // elastic net: l1 * |w| and l2 / 2 * w^2 are added to the loss
  double l2 = 0.0;

  // sgd without decay: the rate is only a factor of the gradient.
  bool is_plain() const { return kind == "sgd" && weight_decay == 0; }
};

// One gradient of a group that is applied together, with its weight in the sum.
struct WeightedGradient {
  Slice gradient;
  double weight = 1.0;
  // The places of a sparse gradient's values in the range, rising; null: a gradient of all weights.
  const std::vector<std::uint32_t>* keys = nullptr;
};

// The sum as every optimizer forms it first: applying it with weight 1 equals applying the gradients, bit for
// bit. The sum of sparse gradients has zeros at the other places.
Values weighted_sum(std::span<const WeightedGradient> gradients, Precision precision, std::size_t count);

class Optimizer {
 public:
  Optimizer() = default;
  Optimizer(const OptimizerSpec& spec, Precision precision, std::size_t size);

  // weights -= rate * rule(sum_i weight_i * gradient_i), summed in the given order. One step.
  //
  // A group of sparse gradients updates the weights for which at least one gradient has a key, as MXNet's
  // lazy_update does. All other weights stay unchanged, and so do their momentum and other state; weight
  // decay acts on touched weights only. The time is in proportion to the keys. With all keys the result
  // equals that of dense gradients, bit for bit. A group has either dense or sparse gradients. An elastic net
  // also shrinks untouched weights: the weights in `rest` take the step with a gradient of zero.
  void apply(Values& weights, std::span<const WeightedGradient> group, double rate,
             std::span<const Range> rest = {});

  // The optimizer of these weights only, with its state.
  Optimizer part(Range range) const;

  std::int64_t steps() const { return steps_; }
  // Calls `part(data, bytes)` for each part of its state, always in the same order.
  template <class Part>
  void for_each_part(Part part) const {
    part(&steps_, sizeof steps_);
    for (const Values& values : state_) part(values.raw(), values.bytes());
  }

 private:
  OptimizerSpec spec_;
  std::vector<Values> state_;
  std::int64_t steps_ = 0;
  std::vector<std::uint32_t> slot_;  // of each weight in the sums of a sparse group, from 1; 0 between steps
};

enum class RateSchedule { constant, step, cosine, inverse_sqrt };

struct LearningRate {
  double base = 0.1;
  RateSchedule schedule = RateSchedule::constant;
  double step_every = 1;  // step: epochs between drops
  double step_factor = 0.1;
  double total_epochs = 1;  // cosine: falls to 0 at this epoch
  // The rate at a date of the training, in epochs of the whole data set.
  double at(double epoch) const;
};

// Passes of all workers together over the training set. The first clock may have more or fewer batches than
// the others; the difference is `first_more`.
struct Epochs {
  double per_clock = 0;
  double first_more = 0;
  // After this number of clocks of each worker; or the mean, if only a share of the workers has done the
  // first clock.
  double after(double clocks) const { return after(clocks, std::min(clocks, 1.0)); }
  double after(double clocks, double firsts) const { return clocks * per_clock + firsts * first_more; }
  double of_clock(std::int64_t clock) const { return clock == 0 ? per_clock + first_more : per_clock; }
};

}  // namespace psim

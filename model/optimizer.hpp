// How an aggregated gradient moves the weights, by one of several rules. The state is stored with
// its range of weights, so a server updates its own part of the model alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "model/base/settings.hpp"
#include "model/base/table.hpp"
#include "model/numerics/functions.hpp"
#include "model/values.hpp"

namespace psim {

// How a gradient moves the weights: one row an optimizer (optimizer.cpp).

// The numbers of one step of a rule, in the precision of the weights.
template <class Scalar>
struct StepNumbers {
  const Settings& settings;
  double learning_rate;
  double l1, l2;   // for rules with an elastic net
  std::int64_t t;  // 1 at the first step
  // For rules of whole arrays: the columns of this matrix, which is stored row by row (1: a vector); and the
  // decay, for rules that do it themselves.
  std::size_t columns = 1;
  double weight_decay = 0;

  Scalar rate() const { return static_cast<Scalar>(learning_rate); }
  Scalar operator()(const Setting& setting) const { return static_cast<Scalar>(settings.of(setting)); }
  // 1 - setting^t: the factor by which a running mean that starts at zero is too small.
  Scalar bias(const Setting& setting) const {
    return static_cast<Scalar>(1 - numerics::pow(settings.of(setting), static_cast<double>(t)));
  }
};

// Moves `n` weights `w`, given their gradient `g` and the rule's state arrays; null if the rule has none.
template <class Scalar>
using StepFunction = std::function<void(Scalar* w, Scalar* g, Scalar* first, Scalar* second, std::size_t n)>;

// A rule is a generic lambda: it takes the StepNumbers of a step, and returns another generic lambda that
// moves the weights.
class StepRule {
 public:
  template <class Rule>
  StepRule(Rule rule) : of_float_(made_of<float>(rule)), of_double_(made_of<double>(rule)) {}

  StepFunction<float> of(const StepNumbers<float>& numbers) const { return of_float_(numbers); }
  StepFunction<double> of(const StepNumbers<double>& numbers) const { return of_double_(numbers); }

 private:
  template <class Scalar>
  using Maker = std::function<StepFunction<Scalar>(const StepNumbers<Scalar>&)>;
  template <class Scalar, class Rule>
  static Maker<Scalar> made_of(Rule rule) {
    return [rule](const StepNumbers<Scalar>& numbers) -> StepFunction<Scalar> {
      return [move = rule(numbers)](Scalar* w, Scalar* g, Scalar* first, Scalar* second, std::size_t n) {
        const auto local = move;  // its numbers stay in registers: no written weight can alias them
        local(w, g, first, second, n);
      };
    };
  }
  Maker<float> of_float_;
  Maker<double> of_double_;
};

// How weight decay changes a step: its product with the weights is added to their gradient (L2); it
// multiplies the weights by 1 - rate * weight_decay before the step (Loshchilov, Hutter, ICLR 2019); or the
// rule does it.
enum class WeightDecay : std::uint8_t { in_gradient, decoupled, by_rule };

struct OptimizerRow {
  std::string_view name, doc;     // the doc includes the source
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  std::size_t state_arrays = 0;  // of the model's size, 0 to 2; zeros at first
  StepRule rule;
  // The rule takes l1 and l2 instead of weight_decay, and moves weights whose gradient is zero.
  bool elastic_net = false;
  bool adaptive = false;  // it divides each gradient by a running measure of its size
  WeightDecay decay = WeightDecay::in_gradient;
  bool counts_steps = false;  // its rule uses the number of the step
  // The rule is called with one whole matrix or vector of the model at a time, not with any part of the
  // weights.
  bool whole_arrays = false;
  double fuzz = 1;  // how often the fuzzer draws it, relative to 1
};

template <>
std::deque<OptimizerRow> built_in_rows();
using OptimizerKind = Chosen<OptimizerRow>;

struct OptimizerSpec {
  OptimizerKind kind;
  Settings settings;          // of the kind
  double weight_decay = 0.0;  // L2, or decoupled by the kind; not for an elastic net
  double l1 = 0.0;            // elastic net: l1 * |w| and l2 / 2 * w^2 are added to the loss
  double l2 = 0.0;
  std::vector<ArrayShape> arrays = {};  // for a rule of whole arrays: all weights, in order

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

// How a gradient moves the weights: one row an optimizer (optimizer_rules.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "model/numerics/functions.hpp"
#include "model/settings.hpp"
#include "model/table.hpp"

namespace psim {

// The numbers of one step of a rule, in the precision of the weights.
template <class Scalar>
struct StepNumbers {
  const Settings& settings;
  double learning_rate;
  double l1, l2;   // for rules with an elastic net
  std::int64_t t;  // 1 at the first step

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

struct OptimizerRow {
  std::string_view name, doc;     // the doc includes the source
  std::string_view aliases = {};  // separated by spaces
  SettingList settings = {};
  std::size_t state_arrays = 0;  // of the model's size, 0 to 2; zeros at first
  StepRule rule;
  // The rule takes l1 and l2 instead of weight_decay, and moves weights whose gradient is zero.
  bool elastic_net = false;
  bool adaptive = false;  // it divides each gradient by a running measure of its size
  double fuzz = 1;        // how often the fuzzer draws it, relative to 1
};

template <>
std::deque<OptimizerRow> built_in_rows();
using OptimizerKind = Chosen<OptimizerRow>;

}  // namespace psim

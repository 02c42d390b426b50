// Weights with the optimizer that updates them, in the precision of the scenario.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/optimizer.hpp"
#include "model/rounding.hpp"
#include "model/values.hpp"

namespace psim {

struct Storage {
  Precision precision = Precision::float32;
  // Half precision: updates go to a copy in single precision, and the weights are its rounded values (MXNet's
  // multi_precision; Micikevicius et al., ICLR 2018, 3.1). Without the copy, rounding removes an update that
  // is less than half of the distance to the next number. The optimizer's state is always in single
  // precision.
  bool master_copy = false;
};

// Bytes of the optimizer's state and the master copy of `count` weights, with or without numbers.
std::uint64_t state_bytes(const OptimizerSpec& optimizer, const Storage& storage, std::size_t count);

class Parameters {
 public:
  Parameters() = default;
  Parameters(const OptimizerSpec& optimizer, const Storage& storage, Values weights);

  // False for a phantom model.
  explicit operator bool() const { return weights_ != nullptr; }

  // One step of the optimizer; see Optimizer::apply.
  void update(std::span<const WeightedGradient> group, double rate, std::span<const Range> rest = {});

  // Replaces every weight by `change` of that weight, a generic function of one number.
  template <class Change>
  void change_each(Change change) {
    if (storage_.master_copy) {
      each(master_, change);
      weights_ = std::make_shared<Values>(Values::copy_of(master_, 0, master_.size()));
    } else {
      make_own(weights_);
      each(*weights_, change);
    }
    round_to(storage_.precision, *weights_);
  }

  // These weights only, with their part of the optimizer's state.
  Parameters part(Range range) const;

  // Calls `part(data, bytes)` for each part of the state, except the weights, on which the next update
  // depends.
  template <class Part>
  void for_each_part_of_state(Part part) const {
    part(master_.raw(), master_.bytes());
    optimizer_.for_each_part(part);
  }

  // The weights as all readers see them. Readers share them, and they are copied before they change.
  const std::shared_ptr<Values>& weights() const { return weights_; }

 private:
  template <class Change>
  static void each(Values& values, Change change) {
    with_scalar(values.precision(), [&](auto zero) {
      using Scalar = decltype(zero);
      for (Scalar& value : values.as<Scalar>()) value = static_cast<Scalar>(change(value));
    });
  }

  Storage storage_;
  Optimizer optimizer_;
  std::shared_ptr<Values> weights_;
  Values master_;  // with a master copy
};

}  // namespace psim

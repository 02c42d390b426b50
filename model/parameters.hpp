// Weights with the optimizer that updates them, kept in the precision that a scenario wants.
#pragma once

#include <memory>
#include <span>

#include "model/optimizer.hpp"
#include "model/rounding.hpp"
#include "model/values.hpp"

namespace psim {

struct Storage {
  Precision precision = Precision::float32;
  // Half precision: updates go to a copy in single precision, of which the weights are the rounded image
  // (MXNet's multi_precision; Micikevicius et al., ICLR 2018, 3.1). Without it an update is rounded away if
  // it is less than half of the distance to the next number. The optimizer's state is in single precision
  // always.
  bool master_copy = false;
};

class Parameters {
 public:
  Parameters() = default;
  Parameters(const OptimizerSpec& optimizer, const Storage& storage, Values weights);

  // False for a phantom model's.
  explicit operator bool() const { return weights_ != nullptr; }

  // One step of the optimizer; see Optimizer::apply.
  void update(std::span<const WeightedGradient> group, double rate, std::span<const Range> rest = {});

  // Every weight becomes what `change`, a generic function of one number, makes of it.
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

  // These weights alone, with their part of the optimizer's state.
  Parameters part(Range range) const;

  // Of all beside the weights.
  std::size_t state_bytes() const { return optimizer_.bytes() + master_.bytes(); }

  // Calls `part(data, bytes)` for each part of what the next update depends on beside the weights.
  template <class Part>
  void for_each_part_of_state(Part part) const {
    part(master_.raw(), master_.bytes());
    optimizer_.for_each_part(part);
  }

  // As everybody sees them. Shared with whoever reads them, and copied before they are changed.
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

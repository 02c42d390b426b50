// Weights with the optimizer that updates them, in the precision of the scenario.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "model/optimizer.hpp"
#include "model/values.hpp"

namespace psim {

// Half precision: IEEE 754-2008's binary16 (float16: 11 bits of precision, up to 65504, subnormals down to
// 2^-24) and bfloat16 (8 bits, the range of single precision). Numbers are rounded to nearest even; numbers
// that are too large become infinite.
//
// psim stores numbers of half precision, and computes with them, in single precision. The places of rounding,
// and the bytes on the network and between host and devices, are those of real half precision:
// - Rounded are the initial weights, a worker's complete gradient (for a clock of several local steps, their
//   sum), partial sums of an all-reduce at every hop, moves of elastic averaging, and the output of filters.
//   Weights are rounded after every update and not when they are sent, so that an answer stays a reference.
// - multi_precision belongs to the node that updates: servers, or workers that run the optimizer. The
//   optimizer's state is always in single precision; in MXNet it is in half precision without
//   multi_precision.
// - Gradients travel multiplied by loss_scale. A message's values are the receiver's values after dividing.
//   So filters, sums and optimizers do not see the scale, and rounding includes it.

// The bits of `x` in `precision`, a half precision, and the number that they stand for. Double precision is
// rounded twice, first to single precision.
std::uint16_t half_bits(Precision precision, float x);
float from_half_bits(Precision precision, std::uint16_t bits);

// Multiplies each value by `scale`, rounds it to `precision`, and divides it by `scale`: the receiver's value
// of a number that travels in half precision, scaled so that small numbers do not vanish (Micikevicius et
// al., ICLR 2018, 3.2). Single and double precision stay unchanged. Returns whether a value became infinite
// only because of `scale`.
template <class Scalar>
bool round_to(Precision precision, std::span<Scalar> values, double scale = 1);
bool round_to(Precision precision, Values& values, double scale = 1);

// A generic lambda, for both precisions of numbers.
template <template <class> class Work>
class ScalarCode {
 public:
  ScalarCode() = default;
  template <class Code>
  ScalarCode(Code code) : of_float_(code), of_double_(code) {}
  explicit operator bool() const { return static_cast<bool>(of_float_); }
  void operator()(Work<float>& work) const { of_float_(work); }
  void operator()(Work<double>& work) const { of_double_(work); }

 private:
  std::function<void(Work<float>&)> of_float_;
  std::function<void(Work<double>&)> of_double_;
};

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

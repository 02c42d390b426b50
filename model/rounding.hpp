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
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "model/values.hpp"

namespace psim {

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

}  // namespace psim

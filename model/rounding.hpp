// Half precision: IEEE 754-2008's binary16 (float16: 11 bits of precision, up to 65504, subnormals down to
// 2^-24) and bfloat16 (8 bits, the range of single precision). Numbers are rounded to nearest even; what is
// too large becomes infinite.
//
// Numbers of half precision are held, and computed with, as single ones. What is true to life is where they
// are rounded, and how many bytes they take on the network and between host and devices:
// - Rounded are the initial weights, a worker's gradient when it is complete (of a clock of several local
//   steps, their sum), partial sums of an all-reduce at every hop, moves of elastic averaging, and what
//   filters make of them. Weights are rounded after every update and not when they are sent, so that an
//   answer stays a reference.
// - multi_precision belongs to the node that updates: servers, or the workers where these run the
//   optimizer. The optimizer's state is in single precision with and without it; MXNet's is in half
//   precision without.
// - Gradients travel as loss_scale times themselves. A message's values are what the receiver has after
//   dividing, so filters, sums and optimizers know nothing of the scale, and rounding takes it into
//   account.
#pragma once

#include <cstdint>
#include <span>

#include "model/values.hpp"

namespace psim {

// The bits of `x` in `precision`, a half one, and what they stand for. Double precision is rounded twice, to
// single precision first.
std::uint16_t half_bits(Precision precision, float x);
float from_half_bits(Precision precision, std::uint16_t bits);

// Makes every value times `scale` one of `precision`, and divides by `scale` again: what a receiver has of
// numbers that travel in half precision, scaled so that small ones do not vanish (Micikevicius et al., ICLR
// 2018, 3.2). Single and double precision are left as they are. Returns whether a value became infinite that
// without `scale` would not have.
template <class Scalar>
bool round_to(Precision precision, std::span<Scalar> values, double scale = 1);
bool round_to(Precision precision, Values& values, double scale = 1);

}  // namespace psim

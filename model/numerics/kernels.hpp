// The functions that loops over arrays call. They have no branches, so a compiler can compute several
// elements at once, and no step whose bits depend on how many. functions.hpp documents them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "model/numerics/functions.hpp"

namespace psim::numerics::kernels {

// 2^k, for -1023 < k < 1024; k is a two's complement number.
inline double power_of_two(std::uint64_t k) { return std::bit_cast<double>((k + 1023U) << 52U); }

// `yes` if the condition holds, otherwise `no`. Compilers make branches of some conditional expressions, and
// then compute one element at a time.
inline double choice(bool condition, double yes, double no) {
  const std::uint64_t mask = 0U - static_cast<std::uint64_t>(condition);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(yes) & mask) |
                               (std::bit_cast<std::uint64_t>(no) & ~mask));
}

// log(2): the first part has 42 bits, so its product with an exponent is exact.
constexpr double ln2_high = 0x1.62e42fefa3800p-1;
constexpr double ln2_low = 0x1.ef35793c76730p-45;

// e^x = 2^k (1 + r + rest), with |r| at most about log(2) / 2.
struct ReducedPower {
  std::uint64_t k;  // two's complement
  double r;
  double rest;
};

// e^(high + low), for |high| <= 1000 and a `low` of at most 2^-40.
inline ReducedPower reduced_power(double high, double low) {
  // Adding `shift` rounds to an integer, which is then in the last bits of the sum.
  constexpr double shift = 0x1.8p52;
  constexpr double per_ln2 = 0x1.71547652b82fep+0;  // 1 / log(2)
  const double shifted = high * per_ln2 + shift;
  const double n = shifted - shift;
  const double first = high - n * ln2_high;
  const double second = low - n * ln2_low;
  const double r = first + second;
  const double lost = (first - r) + second;
  // (e^r - 1 - r) / r^2, the series to r^11: the terms after it are below 2^-57. Four terms at a time,
  // because a processor can compute them in parallel.
  const double r2 = r * r;
  const double r4 = r2 * r2;
  const double begin = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const double middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const double end =
      (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
  const double sum = begin + r4 * (middle + r4 * end);
  return {std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(shift), r,
          lost + r * (r * sum + lost)};
}

// e^(high + low); |low| is at most 2^-40, and at most half a unit in the last place of `high` matters.
inline double exp_of_sum(double high, double low) {
  // Beyond these limits the result is 0 or infinite anyway. A NaN fails both comparisons, and stays.
  const double above = choice(high < -746.0, -746.0, high);
  const ReducedPower p = reduced_power(choice(above > 710.0, 710.0, above), low);
  const DoubleDouble one = fast_two_sum(1.0, p.r);
  // Two factors, because 2^k itself may be too large or too small.
  const std::uint64_t half = ((p.k + 2048U) >> 1U) - 1024U;
  return (one.high + (one.low + p.rest)) * power_of_two(half) * power_of_two(p.k - half);
}

inline double exp(double x) { return exp_of_sum(x, 0.0); }

// e^x - 1 as a sum of two numbers, for -40 <= x <= 700.
inline DoubleDouble expm1_parts(double x) {
  const ReducedPower p = reduced_power(x, 0.0);
  // 2^-k (e^x - 1) = (1 - 2^-k) + r + rest
  const double inverse = power_of_two(0U - p.k);
  const double constant = 1.0 - inverse;
  const double lost = (1.0 - constant) - inverse;
  const DoubleDouble sum = fast_two_sum(constant, p.r);
  const DoubleDouble result = fast_two_sum(sum.high, sum.low + (lost + p.rest));
  const double scale = power_of_two(p.k);
  return {result.high * scale, result.low * scale};
}

// tanh x = (e^2x - 1) / (e^2x + 1). The error of the first quotient is computed and subtracted.
inline double tanh(double x) {
  const double size = std::abs(x);
  const DoubleDouble t = expm1_parts(2.0 * choice(size > 22.0, 22.0, size));  // tanh 22 rounds to 1
  const DoubleDouble divisor = two_sum(t.high, 2.0);
  const double inverse = 1.0 / divisor.high;
  const double first = t.high * inverse;
  const DoubleDouble back = two_product(first, divisor.high);
  const double rest = ((t.high - back.high) - back.low) + (t.low - first * (divisor.low + t.low));
  return std::copysign(first + rest * inverse, x);
}

inline double sigmoid(double x) {
  const double e = exp(-std::abs(x));
  return choice(x < 0.0, e, 1.0) / (1.0 + e);
}

}  // namespace psim::numerics::kernels

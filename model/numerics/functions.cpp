#include "model/numerics/functions.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "model/numerics/kernels.hpp"

namespace psim::numerics {
namespace {

using kernels::ln2_high;
using kernels::ln2_low;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double smallest_normal = std::numeric_limits<double>::min();

// x = 2^exponent * factor, with sqrt(1/2) <= factor < sqrt(2), for a positive, finite x.
struct Scaled {
  double exponent;
  double factor;
};

Scaled scaled(double x) {
  const bool subnormal = x < smallest_normal;
  constexpr std::uint64_t one = 0x3ff0000000000000U, root_half = 0x3fe6a09e667f3bcdU;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(subnormal ? x * 0x1p54 : x) + (one - root_half);
  const auto exponent = static_cast<std::int64_t>(bits >> 52U) - 1023 - (subnormal ? 54 : 0);
  return {static_cast<double>(exponent), std::bit_cast<double>((bits & 0x000fffffffffffffU) + root_half)};
}

// 2/3 z + 2/5 z^2 + ... + 2/23 z^11: the terms after it are below 2^-59. Four terms at a time, because a
// processor can compute them in parallel.
double logarithm_series(double z) {
  const double z2 = z * z;
  const double z4 = z2 * z2;
  const double begin = (2.0 / 3.0 + z * (2.0 / 5.0)) + z2 * (2.0 / 7.0 + z * (2.0 / 9.0));
  const double middle = (2.0 / 11.0 + z * (2.0 / 13.0)) + z2 * (2.0 / 15.0 + z * (2.0 / 17.0));
  const double end = (2.0 / 19.0 + z * (2.0 / 21.0)) + z2 * (2.0 / 23.0);
  return z * (begin + z4 * (middle + z4 * end));
}

// k log(2) + log(1 + f) + low, for sqrt(1/2) <= 1 + f < sqrt(2) and a tiny `low`.
double logarithm(double k, double f, double low) {
  const double s = f / (2.0 + f);
  const double half_square = 0.5 * f * f;
  const double tail = s * (half_square + logarithm_series(s * s)) + (k * ln2_low + low);
  if (k == 0.0) return f - (half_square - tail);
  const DoubleDouble sum = fast_two_sum(k * ln2_high, f);
  return sum.high + (sum.low - (half_square - tail));
}

// The logarithm of a positive, finite x, with a relative error below 2^-68.
DoubleDouble precise_logarithm(double x) {
  const Scaled parts = scaled(x);
  const DoubleDouble s = quotient(parts.factor - 1.0, two_sum(parts.factor, 1.0));
  const DoubleDouble z = times(s, s);
  // 1/7 + z/9 + ... + z^11/29: the terms after it are below 2^-61 of the sum.
  double tail = 1.0 / 29.0;
  for (int n = 27; n >= 7; n -= 2) tail = tail * z.high + 1.0 / n;
  DoubleDouble sum = plus({0x1.999999999999ap-3, -0x1.999999999999ap-57}, {z.high * tail, 0.0});
  sum = plus({0x1.5555555555555p-2, 0x1.5555555555555p-56}, times(z, sum));
  sum = plus({1.0, 0.0}, times(z, sum));
  sum = times({2.0 * s.high, 2.0 * s.low}, sum);
  return plus(fast_two_sum(parts.exponent * ln2_high, parts.exponent * ln2_low), sum);
}

// The logarithm of x to another base; `factor` is 1 / log(base).
double logarithm_to_base(double x, DoubleDouble factor) {
  if (!(x > 0.0)) return x == 0.0 ? -infinity : (x < 0.0 ? nan : x + x);
  if (x == infinity) return x;
  const DoubleDouble result = times(precise_logarithm(x), factor);
  return result.high + result.low;
}

enum class Parity { none, odd, even };

Parity parity_of(double y) {
  const double size = std::abs(y);
  if (!(size < 0x1p53)) return size < infinity ? Parity::even : Parity::none;
  const auto whole = static_cast<std::int64_t>(size);
  if (static_cast<double>(whole) != size) return Parity::none;
  return whole % 2 == 0 ? Parity::even : Parity::odd;
}

// x^y for a positive, finite x other than 1, and a finite y other than 0.
double power(double x, double y) {
  const DoubleDouble log_x = precise_logarithm(x);
  const double estimate = y * log_x.high;
  if (estimate > 710.0) return infinity;
  if (estimate < -746.0) return 0.0;
  if (std::abs(estimate) < 0x1p-60) return 1.0 + estimate;  // the exact product could underflow
  const DoubleDouble product = two_product(y, log_x.high);
  return kernels::exp_of_sum(product.high, product.low + y * log_x.low);
}

// x^y for an infinite y.
double power_of_infinite(double x, double y) {
  const double size = std::abs(x);
  if (size == 1.0) return 1.0;
  return (size > 1.0) == (y > 0.0) ? infinity : 0.0;
}

// An angle of `quarter` + 4 n quarters of a turn, and 2 pi `rest`; |rest| <= 1/8.
struct Turn {
  std::uint64_t quarter;
  double rest;
};

Turn reduced_turn(double x) {
  const double size = std::abs(x);
  if (size >= 0x1p53) return {0, x - x};  // whole turns; a NaN if x is infinite
  const double turns = size - static_cast<double>(static_cast<std::int64_t>(size));  // in [0, 1), exact
  const auto quarter = static_cast<std::uint64_t>(turns * 4.0 + 0.5);
  return {quarter, turns - 0.25 * static_cast<double>(quarter)};
}

// 2 pi r as a double-double number.
DoubleDouble angle_of(double r) { return times({0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52}, {r, 0.0}); }

// The highest power comes first.
template <std::size_t n>
double polynomial(const double (&factors)[n], double x) {
  double sum = factors[0];
  for (std::size_t i = 1; i < n; ++i) sum = sum * x + factors[i];
  return sum;
}

// sin(2 pi r) for |r| <= 1/8: the Taylor series to the 17th power.
double sine(double r) {
  if (std::abs(r) < 0x1p-900) return angle_of(r * 0x1p200).high * 0x1p-200;  // exact products would underflow
  static constexpr double series[] = {
      1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
      1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
  const DoubleDouble angle = angle_of(r);
  const double z = angle.high * angle.high;
  return angle.high + (angle.low * (1.0 - 0.5 * z) + angle.high * z * polynomial(series, z));
}

// cos(2 pi r) for |r| <= 1/8: the Taylor series to the 16th power.
double cosine(double r) {
  static constexpr double series[] = {
      1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
      1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};
  const DoubleDouble angle = angle_of(r);
  const DoubleDouble square = times(angle, angle);
  const double z = square.high;
  const DoubleDouble begin = fast_two_sum(1.0, -0.5 * z);
  return begin.high + (begin.low - 0.5 * square.low + z * z * polynomial(series, z));
}

// erf(x) for |x| < 1/2: the Taylor series to the 27th power.
double small_erf(double x) {
  const double z = x * x;
  double sum = 0.0;
  double factorial = 6227020800.0;  // of n
  for (int n = 13; n >= 1; --n) {
    sum = 1.0 / (factorial * (2 * n + 1)) - z * sum;
    factorial /= n;
  }
  return 2.0 * std::numbers::inv_sqrtpi * x * (1.0 - z * sum);
}

// erfc(x) for 1/2 <= x <= 28: the trapezoidal rule of step h = 1/2. The second summand removes its error.
double large_erfc(double x) {
  using std::numbers::pi;
  const double z = x * x;
  double sum = 0.0;
  for (int n = 12; n >= 1; --n) sum += kernels::exp(-0.25 * n * n) / (0.25 * n * n + z);
  const DoubleDouble square = two_product(x, x);
  const double gauss = kernels::exp_of_sum(-square.high, -square.low);
  const double error = x < 2.0 * pi ? 2.0 / (kernels::exp(4.0 * pi * x) - 1.0) : 0.0;
  return gauss * (x * (0.5 / z + sum)) / pi - error;
}

}  // namespace

double exp(double x) { return kernels::exp(x); }

double log(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -infinity : (x < 0.0 ? nan : x + x);
  if (x == infinity) return x;
  const Scaled parts = scaled(x);
  return logarithm(parts.exponent, parts.factor - 1.0, 0.0);
}

double log1p(double x) {
  if (!(x > -1.0)) return x == -1.0 ? -infinity : (x < -1.0 ? nan : x + x);
  if (x == infinity || std::abs(x) < 0x1p-54) return x;
  const DoubleDouble sum = two_sum(1.0, x);
  const Scaled parts = scaled(sum.high);
  if (parts.exponent == 0.0) return logarithm(0.0, x, 0.0);
  return logarithm(parts.exponent, parts.factor - 1.0, sum.low / sum.high);
}

double log10(double x) { return logarithm_to_base(x, {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}); }
double log2(double x) { return logarithm_to_base(x, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}); }

double tanh(double x) { return kernels::tanh(x); }

double pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  if (std::abs(y) == infinity) return power_of_infinite(x, y);
  const Parity parity = parity_of(y);
  const double size = std::abs(x);
  const bool negative = std::signbit(x) && parity == Parity::odd;
  if (size == 0.0 || size == infinity) {
    const double result = (size == 0.0) == (y > 0.0) ? 0.0 : infinity;
    return negative ? -result : result;
  }
  if (x < 0.0 && parity == Parity::none) return nan;
  const double result = size == 1.0 ? 1.0 : power(size, y);
  return negative ? -result : result;
}

double erfc(double x) {
  const double size = std::abs(x);
  if (size < 0.5) return 1.0 - small_erf(x);
  if (size > 28.0) return x < 0.0 ? 2.0 : 0.0;
  return x < 0.0 ? 2.0 - large_erfc(size) : large_erfc(x);
}

double sin_of_turns(double x) {
  const Turn turn = reduced_turn(x);
  if (turn.rest == 0.0 && turn.quarter % 2 == 0) return std::copysign(0.0, x);
  const double size = turn.quarter % 2 == 0 ? sine(turn.rest) : cosine(turn.rest);
  return ((turn.quarter & 2U) != 0) != std::signbit(x) ? -size : size;
}

double cos_of_turns(double x) {
  const Turn turn = reduced_turn(x);
  if (turn.rest == 0.0 && turn.quarter % 2 == 1) return 0.0;
  const double size = turn.quarter % 2 == 0 ? cosine(turn.rest) : sine(turn.rest);
  return turn.quarter == 1 || turn.quarter == 2 ? -size : size;
}

float exp(float x) { return static_cast<float>(kernels::exp(static_cast<double>(x))); }

}  // namespace psim::numerics

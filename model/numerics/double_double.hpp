// Numbers of about 106 bits: the exact sum of two doubles, the larger one first. Every operation is a fixed
// sequence of IEEE additions, subtractions and multiplications, so every machine gives the same bits. The
// functions must be compiled without contraction (-ffp-contract=off), and need round to nearest.
// Sources: Dekker, A floating-point technique for extending the available precision, 1971; Knuth, The Art of
// Computer Programming, volume 2.
#pragma once

namespace psim::numerics {

struct DoubleDouble {
  double high = 0;
  double low = 0;  // at most half a unit in the last place of `high`
};

// a + b without error (Knuth). The sum must not overflow.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// a + b without error (Dekker), if a = 0 or |a| >= |b|.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// x as a sum of two doubles of at most 26 bits each (Veltkamp). |x| must be below 2^996.
inline DoubleDouble halves(double x) {
  const double scaled = 0x1.0000002p27 * x;
  const double high = scaled - (scaled - x);
  return {high, x - high};
}

// a * b without error (Dekker), if |a|, |b| and the product are below 2^996, and the product is 0 or at least
// 2^-968.
inline DoubleDouble two_product(double a, double b) {
  const double product = a * b;
  const DoubleDouble x = halves(a);
  const DoubleDouble y = halves(b);
  const double error = ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low;
  return {product, error};
}

// a + b, with a relative error of about 2^-104, if a and b have one sign or |a| is at least twice |b|.
inline DoubleDouble plus(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble sum = two_sum(a.high, b.high);
  return fast_two_sum(sum.high, sum.low + (a.low + b.low));
}

// a * b, with a relative error of about 2^-102.
inline DoubleDouble times(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return fast_two_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

// a / b, with a relative error of about 2^-102.
inline DoubleDouble quotient(double a, DoubleDouble b) {
  const double first = a / b.high;
  const DoubleDouble back = two_product(first, b.high);
  const double rest = ((a - back.high) - back.low) - first * b.low;
  return fast_two_sum(first, rest / b.high);
}

}  // namespace psim::numerics

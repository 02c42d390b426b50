// The elementary functions of everything that a run computes. Each is a fixed sequence of IEEE additions,
// subtractions, multiplications, divisions and square roots, so every compiler and every processor gives the
// same bits. The functions of <cmath> may differ between two systems. The files of this folder must be
// compiled without contraction (-ffp-contract=off), and need round to nearest.
//
// Special values are those of C99, annex F: a NaN gives a NaN (but pow(1, y) = pow(x, 0) = 1), results
// beyond the largest number are infinite, results below the smallest normal number are subnormal or 0.
// No function sets errno.
//
// The bounds of the errors are the largest ones measured against the 64-bit significands of the x87, rounded
// up, in ulp: units in the last place of the exact result.
#pragma once

namespace psim::numerics {

// e^x. At most 0.8 ulp. x is reduced to |r| <= log(2) / 2 (Cody, Waite: Software Manual for the Elementary
// Functions, 1980), then the Taylor series to r^13.
double exp(double x);

// The natural logarithm; NaN for x < 0, -infinity for 0. At most 0.9 ulp. x = 2^k (1 + f), and with
// s = f / (2 + f): log(1 + f) = 2 (s + s^3 / 3 + s^5 / 5 + ...), arranged as in fdlibm (Ng, Sun Microsystems,
// 1993).
double log(double x);

// log(1 + x), also for small x; NaN for x < -1, -infinity for -1. At most 0.9 ulp. As log.
double log1p(double x);

// The logarithms to base 10 and to base 2; NaN for x < 0, -infinity for 0. At most 0.501 ulp, and exact for
// powers of the base. The series of log in double-double numbers.
double log10(double x);
double log2(double x);

// The hyperbolic tangent. At most 1 ulp. (e^2x - 1) / (e^2x + 1), with the quotient corrected.
double tanh(double x);

// x^y; NaN for x < 0 unless y is an integer. At most 0.8 ulp. The logarithm, its product with y and the
// argument of exp are double-double numbers.
double pow(double x, double y);

// 1 - erf(x), the complement of the error function. At most 6 ulp. The Taylor series of erf for
// |x| < 1/2, otherwise the trapezoidal rule for an integral, with its error corrected (Matta, Reichel:
// Uniform computation of the error function and other related functions, Mathematics of Computation 25,
// 1971).
double erfc(double x);

// sin(2 pi x) and cos(2 pi x): the angle is x turns. NaN for an infinite x. At most 0.8 ulp. The
// distance from the next quarter of a turn is exact; then the Taylor series. Exactly 0, 1 or -1 at quarters
// of a turn; a zero sine has the sign of x, a zero cosine is positive (IEEE 754-2019, sinPi and cosPi).
double sin_of_turns(double x);
double cos_of_turns(double x);

// Rounded to float: at most 0.500001 ulp of a float.
float exp(float x);

// Numbers of about 106 bits: the exact sum of two doubles, the larger one first. Every operation is a fixed
// sequence of IEEE additions, subtractions and multiplications, so every machine gives the same bits. The
// functions must be compiled without contraction (-ffp-contract=off), and need round to nearest.
// Sources: Dekker, A floating-point technique for extending the available precision, 1971; Knuth, The Art of
// Computer Programming, volume 2.
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

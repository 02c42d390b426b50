#include "model/base/random.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "model/numerics/functions.hpp"

namespace psim {

double Stream::uniform() { return (static_cast<double>(next() >> 12U) + 0.5) * 0x1p-52; }

double Stream::uniform(double low, double high) { return low + (high - low) * uniform(); }

std::uint64_t Stream::below(std::uint64_t n) {
  const std::uint64_t excess = -n % n;  // 2^64 mod n: the draws that would favour small results
  std::uint64_t draw = next();
  while (draw < excess) draw = next();
  return draw % n;
}

// Box and Muller, 1958. The second number of the pair is not kept: the counter is the only state of a stream.
double Stream::normal() {
  const double radius = std::sqrt(-2.0 * numerics::log(uniform()));
  return radius * numerics::cos_of_turns(uniform());
}

double Stream::exponential() { return -numerics::log(uniform()); }

// Marsaglia and Tsang, A simple method for generating gamma variables, 2000.
double Stream::gamma(double shape) {
  if (shape < 1.0) return gamma(shape + 1.0) * numerics::pow(uniform(), 1.0 / shape);
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
    if (v > 0.0 && numerics::log(uniform()) < 0.5 * x * x + d - d * v + d * numerics::log(v)) return d * v;
  }
}

double Stream::pareto(double alpha) { return numerics::pow(uniform(), -1.0 / alpha); }

std::vector<std::uint32_t> permutation(std::uint32_t n, Stream stream) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

}  // namespace psim

// Goal: a sum has its documented shape, and functions over arrays have the bits of those of one number.
#include "model/numerics/matrices.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "model/base/random.hpp"
#include "model/numerics/functions.hpp"
#include "tests/support/catch.hpp"

namespace {
namespace n = psim::numerics;

// Numbers of many sizes, so that the order of their sum matters.
template <class Scalar>
std::vector<Scalar> numbers(std::size_t count, double largest_exponent) {
  psim::Stream stream(5, "arrays", count);
  std::vector<Scalar> x;
  for (std::size_t i = 0; i < count; ++i) {
    const double size = std::exp2(stream.uniform(-largest_exponent, largest_exponent));
    x.push_back(static_cast<Scalar>(stream.below(2) == 0 ? size : -size));
  }
  return x;
}

// The definition, one addition after the other.
template <class Scalar>
Scalar defined_sum(const std::vector<Scalar>& x) {
  std::vector<Scalar> part(16, Scalar(0));
  for (std::size_t i = 0; i < x.size(); ++i) part[i % 16] += x[i];
  for (int j = 0; j < 8; ++j) part[j] += part[j + 8];
  for (int j = 0; j < 4; ++j) part[j] += part[j + 4];
  for (int j = 0; j < 2; ++j) part[j] += part[j + 2];
  return part[0] + part[1];
}

template <class Scalar>
bool same_bits(Scalar a, Scalar b) {
  using Bits = std::conditional_t<sizeof(Scalar) == 4, std::uint32_t, std::uint64_t>;
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

template <class Scalar>
void check_sums() {
  int other_than_in_sequence = 0;
  for (std::size_t count = 0; count < 200; ++count) {
    const std::vector<Scalar> x = numbers<Scalar>(count, 20);
    const Scalar sum = n::sum(std::span<const Scalar>(x));
    if (!same_bits(sum, defined_sum(x))) FAIL("a sum of " << count << " numbers");
    other_than_in_sequence += sum != std::accumulate(x.begin(), x.end(), Scalar(0));
  }
  CHECK(other_than_in_sequence > 50);
}

template <double (*of)(double)>
float rounded(float x) {
  return static_cast<float>(of(static_cast<double>(x)));
}

template <class Scalar>
void check_each(void (*of_each)(std::span<Scalar>), Scalar (*of)(Scalar)) {
  using Limits = std::numeric_limits<Scalar>;
  for (std::size_t count = 0; count < 100; ++count) {
    std::vector<Scalar> x = numbers<Scalar>(count, 10);
    for (const Scalar special : {Scalar(0), -Scalar(0), Limits::infinity(), -Limits::infinity(),
                                 Limits::quiet_NaN(), Limits::max(), Limits::lowest(), Limits::denorm_min()})
      x.push_back(special);
    std::vector<Scalar> values = x;
    of_each(values);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!same_bits(values[i], of(x[i]))) FAIL("number " << i << " of " << x.size() << ", " << x[i]);
    }
  }
}

}  // namespace

TEST_CASE("numerics: a sum has the documented shape", "[numerics]") {
  check_sums<float>();
  check_sums<double>();
  std::vector<double> x(33, 0.0);
  x[0] = 1, x[16] = 0x1p60, x[32] = -0x1p60, x[1] = 3;  // 1 is lost in the first partial sum
  CHECK(psim::numerics::sum(std::span<const double>(x)) == 3);
  CHECK(psim::numerics::sum(std::span<const float>()) == 0);
}

TEST_CASE("numerics: functions over arrays have the bits of those of one number", "[numerics]") {
  check_each<float>(n::exp_of_each, n::exp);
  check_each<double>(n::exp_of_each, n::exp);
  check_each<float>(n::tanh_of_each, rounded<n::kernels::tanh>);
  check_each<double>(n::tanh_of_each, n::tanh);
  check_each<float>(n::sigmoid_of_each, rounded<n::kernels::sigmoid>);
  check_each<double>(n::sigmoid_of_each, n::kernels::sigmoid);
}

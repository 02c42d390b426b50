// Goal: special values are those of C99, annex F, and of IEEE 754-2019 for angles in turns. Method: tables.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "model/numerics/functions.hpp"
#include "model/numerics/kernels.hpp"
#include "tests/support/catch.hpp"

namespace {

namespace n = psim::numerics;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double most = std::numeric_limits<double>::max();

bool same(double a, double b) {
  return std::isnan(b) ? std::isnan(a) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

struct Value {
  double x, value;
};
struct Special {
  std::string name;
  double (*of)(double);
  std::vector<Value> values;
};

const std::vector<Special> specials = {
    {"exp",
     n::exp,
     {{0.0, 1},
      {-0.0, 1},
      {inf, inf},
      {-inf, 0},
      {709.782712893384, 0x1.fffffffffff2ap1023},
      {709.7827128933841, inf},
      {-745.1332191019411, least},
      {-745.1332191019412, 0},
      {most, inf},
      {-most, 0},
      {least, 1},
      {1, std::numbers::e}}},
    {"log",
     n::log,
     {{1, 0.0},
      {0.0, -inf},
      {-0.0, -inf},
      {-1, no_number},
      {-inf, no_number},
      {inf, inf},
      {-least, no_number},
      {2, std::numbers::ln2},
      {10, std::numbers::ln10}}},
    {"log1p",
     n::log1p,
     {{0.0, 0.0},
      {-0.0, -0.0},
      {-1, -inf},
      {-1.5, no_number},
      {-inf, no_number},
      {inf, inf},
      {least, least},
      {1, std::numbers::ln2}}},
    {"log10",
     n::log10,
     {{1, 0.0}, {0.0, -inf}, {-0.0, -inf}, {-1, no_number}, {inf, inf}, {-inf, no_number}}},
    {"log2", n::log2, {{1, 0.0}, {0.0, -inf}, {-1, no_number}, {inf, inf}, {least, -1074}}},
    {"tanh",
     n::tanh,
     {{0.0, 0.0},
      {-0.0, -0.0},
      {inf, 1},
      {-inf, -1},
      {most, 1},
      {-22, -1},
      {least, least},
      {-0x1p-1022, -0x1p-1022}}},
    {"sigmoid",
     n::kernels::sigmoid,
     {{0.0, 0.5}, {-0.0, 0.5}, {inf, 1}, {-inf, 0.0}, {most, 1}, {-745, least}}},
    {"erfc",
     n::erfc,
     {{0.0, 1}, {-0.0, 1}, {inf, 0.0}, {-inf, 2}, {most, 0.0}, {-most, 2}, {least, 1}, {27.3, 0.0}}},
    {"sin_of_turns",
     n::sin_of_turns,
     {{0.0, 0.0},
      {-0.0, -0.0},
      {0.25, 1},
      {-0.25, -1},
      {0.5, 0.0},
      {-0.5, -0.0},
      {0.75, -1},
      {7, 0.0},
      {most, 0.0},
      {inf, no_number},
      {0x1.fffffffffffffp50, -1}}},
    {"cos_of_turns",
     n::cos_of_turns,
     {{0.0, 1}, {0.25, 0.0}, {-0.25, 0.0}, {0.5, -1}, {0.75, 0.0}, {-7, 1}, {most, 1}, {-inf, no_number}}},
};

struct Power {
  double x, y, value;
};

// The cases of C99, F.9.4.4, and the borders of overflow and underflow.
const std::vector<Power> powers = {
    {0.0, -3, inf},
    {-0.0, -3, -inf},
    {0.0, -2, inf},
    {-0.0, -2, inf},
    {-0.0, -2.5, inf},
    {0.0, -inf, inf},
    {-0.0, -inf, inf},
    {0.0, 3, 0.0},
    {-0.0, 3, -0.0},
    {0.0, 2, 0.0},
    {-0.0, 2, 0.0},
    {-0.0, 2.5, 0.0},
    {-0.0, inf, 0.0},
    {-1, inf, 1},
    {-1, -inf, 1},
    {1, inf, 1},
    {1, no_number, 1},
    {no_number, 0.0, 1},
    {no_number, -0.0, 1},
    {inf, 0.0, 1},
    {-2, 0.5, no_number},
    {-most, -0.5, no_number},
    {0.5, -inf, inf},
    {-0.5, -inf, inf},
    {2, -inf, 0.0},
    {-2, -inf, 0.0},
    {0.5, inf, 0.0},
    {-0.5, inf, 0.0},
    {2, inf, inf},
    {-2, inf, inf},
    {-inf, -3, -0.0},
    {-inf, -2, 0.0},
    {-inf, -2.5, 0.0},
    {-inf, 3, -inf},
    {-inf, 2, inf},
    {-inf, 2.5, inf},
    {inf, -1, 0.0},
    {inf, 0.5, inf},
    {inf, inf, inf},
    {inf, -inf, 0.0},
    {-inf, inf, inf},
    {no_number, 1, no_number},
    {2, no_number, no_number},
    {-1, 0x1p52 + 1, -1},
    {-1, 0x1p53, 1},
    {-1, most, 1},
    {-1, 0.5, no_number},
    {-2, 3, -8},
    {-2, -1, -0.5},
    {2, 1023, 0x1p1023},
    {2, 1024, inf},
    {-2, 1025, -inf},
    {2, -1074, least},
    {2, -1076, 0.0},
    {-2, -1077, -0.0},
    {2, most, inf},
    {0.5, most, 0.0},
    {most, 1, most},
    {least, 1, least},
    {least, -1, inf},
    {-least, 1, -least},
    {most, -1, 0x0.4p-1022},
    {4, 0.5, 2},
    {10, 22, 1e22},
    {3, 33, 5559060566555523},
    {7, least, 1},
    {7, -least, 1},
    {most, least, 1},
    {1 + 0x1p-52, 1e300, inf},
    {1 - 0x1p-53, 1e300, 0.0},
    {1 + 0x1p-52, most, inf},
};

}  // namespace

TEST_CASE("numerics: special values are those of C99", "[numerics]") {
  for (const Special& one : specials) {
    for (const Value& at : one.values) {
      INFO(one.name << "(" << at.x << ") is " << one.of(at.x));
      CHECK(same(one.of(at.x), at.value));
    }
    CHECK(std::isnan(one.of(no_number)));
  }
  for (const Power& one : powers) {
    INFO("pow(" << one.x << ", " << one.y << ") is " << n::pow(one.x, one.y));
    CHECK(same(n::pow(one.x, one.y), one.value));
  }
}

TEST_CASE("numerics: logarithms and powers of whole exponents are exact", "[numerics]") {
  for (int k = -1074; k <= 1023; ++k) {
    const double power = std::ldexp(1.0, k);
    if (!same(n::log2(power), k == 0 ? 0.0 : k)) FAIL("log2 of 2^" << k);
    if (!same(n::pow(2, k), power)) FAIL("2^" << k);
  }
  double ten = 1;
  for (int k = 0; k <= 22; ++k, ten *= 10) {
    CHECK(n::log10(ten) == k);
    CHECK(n::pow(10, k) == ten);
  }
}

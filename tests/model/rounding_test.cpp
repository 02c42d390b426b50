// Half precision against tables of IEEE 754-2008 (binary16) and of bfloat16, and the weights kept in it.

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "model/parameters.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

struct Row {
  float value;
  std::uint16_t bits;
};

float rounded(Precision precision, float x, double scale = 1) {
  round_to(precision, std::span<float>(&x, 1), scale);
  return x;
}

float power(int exponent) { return std::ldexp(1.0F, exponent); }

}  // namespace

TEST_CASE("numbers in half precision have the standard's bits", "[rounding]") {
  for (const Row& row : std::vector<Row>{
           {0, 0x0000},
           {-0.0F, 0x8000},
           {1, 0x3C00},
           {-2, 0xC000},
           {1 / 3.0F, 0x3555},
           {1 + power(-11), 0x3C00},      // a tie, to even
           {1 + 3 * power(-11), 0x3C02},  // another
           {1 + 1.01F * power(-11), 0x3C01},
           {65504, 0x7BFF},  // the largest
           {65519.99F, 0x7BFF},
           {65520, 0x7C00},  // infinite
           {-FLT_MAX, 0xFC00},
           {power(-14), 0x0400},         // the least normal one
           {1023 * power(-24), 0x03FF},  // the largest subnormal one
           {1.5F * power(-24), 0x0002},  // a tie between subnormals
           {power(-24), 0x0001},         // the least
           {1.01F * power(-25), 0x0001},
           {power(-25), 0x0000},
           {FLT_MIN, 0x0000},
       }) {
    INFO(row.value);
    CHECK(half_bits(Precision::float16, row.value) == row.bits);
  }
  for (const Row& row : std::vector<Row>{{1, 0x3F80},
                                         {3.14159265F, 0x4049},
                                         {1 + power(-8), 0x3F80},
                                         {1 + 3 * power(-8), 0x3F82},
                                         {65520, 0x4780},
                                         {1e-8F, 0x322C},
                                         {power(-133), 0x0001},
                                         {power(-134), 0x0000},
                                         {-FLT_MAX, 0xFF80}}) {
    INFO(row.value);
    CHECK(half_bits(Precision::bfloat16, row.value) == row.bits);
  }
  for (const Precision precision : {Precision::float16, Precision::bfloat16}) {
    CHECK(std::isnan(rounded(precision, std::nanf(""))));
    CHECK(rounded(precision, HUGE_VALF) == HUGE_VALF);
    CHECK(bytes_per_value(precision) == 2);
  }
}

TEST_CASE("numbers of half precision stay as they are, single and double ones always", "[rounding]") {
  for (const Precision precision : {Precision::float16, Precision::bfloat16}) {
    const unsigned infinite = precision == Precision::float16 ? 0x7C00 : 0x7F80;
    for (unsigned bits = 0; bits <= infinite; ++bits) {
      const float value = from_half_bits(precision, static_cast<std::uint16_t>(bits));
      if (rounded(precision, value) != value || half_bits(precision, -value) != (bits | 0x8000U))
        FAIL("of bits " << bits);
    }
  }
  CHECK(rounded(Precision::float32, 1 / 3.0F, 1024) == 1 / 3.0F);
  double third = 1 / 3.0;
  round_to(Precision::float64, std::span<double>(&third, 1), 1024);
  CHECK(third == 1 / 3.0);
}

TEST_CASE("a scale saves small numbers and loses large ones", "[rounding]") {
  CHECK(rounded(Precision::float16, power(-30)) == 0);
  CHECK(rounded(Precision::float16, power(-30), 1024) == power(-30));
  CHECK(rounded(Precision::float16, power(-30), 32) == 0);
  CHECK(rounded(Precision::float16, 40'000, 1) == 40'000);
  CHECK(rounded(Precision::float16, 40'000, 2) == HUGE_VALF);
  CHECK(rounded(Precision::bfloat16, power(-30)) == power(-30));
}

namespace {

// A weight from 1, in steps of +2^-12: a quarter of the distance to the next number of float16.
std::vector<float> after_steps(const Storage& storage, int steps) {
  Values weights(storage.precision, 1);
  weights.as<float>()[0] = 1;
  Parameters parameters({}, storage, std::move(weights));
  auto gradient = std::make_shared<Values>(Precision::float32, 1);
  gradient->as<float>()[0] = -1;
  std::vector<float> path;
  for (int i = 0; i < steps; ++i) {
    const auto before = parameters.weights();  // as an answer on its way
    const float seen = before->as<float>()[0];
    parameters.update(std::vector<WeightedGradient>{{{gradient, 0, 1}, 1.0}}, power(-12));
    CHECK(before->as<float>()[0] == seen);
    path.push_back((parameters.weights()->as<float>()[0] - 1) / power(-12));
  }
  return path;
}

}  // namespace

TEST_CASE("small updates vanish, unless there is a master copy", "[rounding]") {
  using Path = std::vector<float>;  // in steps
  CHECK(after_steps({}, 7) == Path{1, 2, 3, 4, 5, 6, 7});
  CHECK(after_steps({Precision::float32, true}, 3) == Path{1, 2, 3});
  CHECK(after_steps({Precision::float16, false}, 7) == Path(7, 0));
  // Ties, after 2 and 6 steps, go to even: down to 1 and up to 1 + 2 * 2^-10.
  CHECK(after_steps({Precision::float16, true}, 7) == Path{0, 0, 4, 4, 4, 8, 8});
  CHECK(after_steps({Precision::bfloat16, false}, 40) == Path(40, 0));
  CHECK(after_steps({Precision::bfloat16, true}, 17).back() == 32);  // over half of 2^-7
}

TEST_CASE("rounding says when only the scale makes a value infinite", "[precision]") {
  const auto overflows = [](Precision precision, float value, double scale) {
    std::vector<float> values{1, value};
    return round_to(precision, std::span(values), scale);
  };
  CHECK(overflows(Precision::float16, 2, 65536));
  CHECK(overflows(Precision::float16, -60000, 2));
  CHECK_FALSE(overflows(Precision::float16, 60000, 1));
  CHECK_FALSE(overflows(Precision::float16, 70000, 8));  // it is too large by itself
  CHECK_FALSE(overflows(Precision::bfloat16, 2, 65536));
  CHECK_FALSE(overflows(Precision::float32, 2, 1e38));
}

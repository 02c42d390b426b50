// Goal: the functions have the promised errors, and the same bits on every machine.
// Method: random arguments against the functions of long double, where it has 64 bits; a digest of
// many results.
#include "model/numerics/functions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "model/base/random.hpp"
#include "model/numerics/kernels.hpp"
#include "tests/support/catch.hpp"

namespace {
namespace n = psim::numerics;
using psim::Stream;
using Exact = long double;
using Of = double (*)(double);

constexpr double inf = std::numeric_limits<double>::infinity();

// |computed - exact| in units in the last place of the exact result.
double error_in_ulp(double computed, Exact exact) {
  const auto rounded = static_cast<double>(exact);
  if (std::isnan(rounded) || std::isinf(rounded) || std::isinf(computed))
    return std::isnan(rounded) ? (std::isnan(computed) ? 0 : inf) : (computed == rounded ? 0 : inf);
  int exponent = -1100;
  if (rounded != 0) std::frexp(rounded, &exponent);
  const Exact ulp = std::ldexp(Exact(1), std::max(exponent - 53, -1074));
  return static_cast<double>(std::abs(static_cast<Exact>(computed) - exact) / ulp);
}

bool long_double_is_wide() {
  const bool wide = std::numeric_limits<Exact>::digits >= 64;
  if (!wide) WARN("skipped: long double is no wider than double on this machine");
  return wide;
}

double any_finite(Stream& stream) {
  for (;;) {
    const auto x = std::bit_cast<double>(stream.next());
    if (std::isfinite(x)) return x;
  }
}

// Of either sign, with a logarithm that is uniform between the exponents.
double of_size(Stream& stream, double low, double high) {
  const double size = std::exp2(stream.uniform(low, high));
  return stream.below(2) == 0 ? size : -size;
}

Exact exact_sigmoid(Exact x) { return 1 / (1 + std::exp(-x)); }

// sin(2 pi (x + quarters / 4)), reduced without error.
Exact exact_wave(Exact x, int quarters) {
  constexpr Exact two_pi = 6.28318530717958647692528676655900577L;
  const Exact size = std::abs(x), turns = size - std::floor(size);
  const int quarter = static_cast<int>(turns * 4 + Exact(0.5));
  const Exact angle = two_pi * (turns - static_cast<Exact>(quarter) / 4);
  const bool mirrored = quarters == 0 && x < 0;
  const int turn = (quarter + quarters) % 4;
  const Exact value = turn % 2 == 0 ? std::sin(angle) : std::cos(angle);
  return (turn >= 2) != mirrored ? -value : value;
}
Exact exact_sine(Exact x) { return exact_wave(x, 0); }
Exact exact_cosine(Exact x) { return exact_wave(x, 1); }

struct Compared {
  std::string name;
  Of computed;
  Exact (*exact)(Exact);
  double bound;  // ulp
  std::vector<std::function<double(Stream&)>> arguments;
};

std::function<double(Stream&)> between(double low, double high) {
  return [=](Stream& s) { return s.uniform(low, high); };
}
std::function<double(Stream&)> sized(double low, double high, double shift = 0) {
  return [=](Stream& s) { return shift + of_size(s, low, high); };
}
double any_positive(Stream& s) { return std::abs(any_finite(s)); }

std::vector<Compared> compared() {
  const auto near_one = sized(-52, -2, 1), subnormal = between(0, 0x1p-1022);
  return {
      {"exp",
       n::exp,
       std::exp,
       0.8,
       {between(-746, 710), between(-2, 2), sized(-60, 0), between(-746, -707)}},
      {"log", n::log, std::log, 0.9, {any_positive, between(0.5, 2), near_one, subnormal}},
      {"log1p",
       n::log1p,
       std::log1p,
       0.9,
       {between(-1, 2), sized(-1074, 0), any_positive, between(-0.32, -0.28), between(0.38, 0.44)}},
      {"log10", n::log10, std::log10, 0.501, {any_positive, between(0.5, 2), near_one, subnormal}},
      {"log2", n::log2, std::log2, 0.501, {any_positive, between(0.5, 2), near_one, subnormal}},
      {"tanh",
       n::tanh,
       std::tanh,
       1.0,
       {between(-25, 25), between(-1, 1), between(-0.2, 0.2), sized(-1074, 0)}},
      {"sigmoid", n::kernels::sigmoid, exact_sigmoid, 2.5, {between(-746, 50), between(-6, 6)}},
      {"erfc",
       n::erfc,
       std::erfc,
       6,
       {between(-7, 27.3), between(-1, 1), between(0.4, 4.1), between(3.9, 9), between(26, 27.3)}},
      {"sin_of_turns",
       n::sin_of_turns,
       exact_sine,
       0.8,
       {between(-1, 1), between(-1e6, 1e6), sized(-1074, 0), sized(-40, -3, 0.5), any_finite}},
      {"cos_of_turns",
       n::cos_of_turns,
       exact_cosine,
       0.8,
       {between(-1, 1), between(-1e6, 1e6), sized(-40, -3, 0.25), any_finite}},
  };
}

}  // namespace

TEST_CASE("numerics: functions of one number have the promised errors", "[numerics]") {
  if (!long_double_is_wide()) return;
  for (const Compared& one : compared()) {
    double worst = 0, at = 0;
    for (std::size_t i = 0; i < one.arguments.size(); ++i) {
      Stream stream(1, one.name, i);
      for (int k = 0; k < 40'000; ++k) {
        const double x = one.arguments[i](stream);
        const double error = error_in_ulp(one.computed(x), one.exact(x));
        if (error > worst) worst = error, at = x;
      }
    }
    INFO(one.name << " has an error of " << worst << " ulp at " << at);
    CHECK(worst <= one.bound);
    CHECK(worst >= 0.49);  // the comparison sees errors
  }
}

TEST_CASE("numerics: powers have the promised error", "[numerics]") {
  if (!long_double_is_wide()) return;
  using Draw = std::function<void(Stream&, double&, double&)>;
  const std::vector<Draw> draws = {
      [](Stream& s, double& x, double& y) { x = s.uniform(0, 20), y = s.uniform(-50, 50); },
      [](Stream& s, double& x, double& y) { x = any_finite(s), y = any_finite(s); },
      [](Stream& s, double& x, double& y) {  // the whole range of results
        x = std::exp2(s.uniform(-1074, 1024)), y = s.uniform(-1080, 1030) / std::log2(x);
      },
      [](Stream& s, double& x, double& y) {  // a base near 1 and a large exponent
        x = 1 + of_size(s, -52, -1), y = s.uniform(-1080, 1030) / std::log2(x);
      },
      [](Stream& s, double& x, double& y) {  // subnormal results
        x = s.uniform(1e-3, 1e3), y = -s.uniform(1020, 1076) / std::log2(x);
      },
      [](Stream& s, double& x, double& y) {  // integers
        x = static_cast<double>(s.below(61)) - 30, y = static_cast<double>(s.below(61)) - 30;
      },
  };
  double worst = 0, at_x = 0, at_y = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    Stream stream(2, "pow", i);
    for (int k = 0; k < 40'000; ++k) {
      double x = 0, y = 0;
      draws[i](stream, x, y);
      const double error = error_in_ulp(n::pow(x, y), std::pow(static_cast<Exact>(x), static_cast<Exact>(y)));
      if (error > worst) worst = error, at_x = x, at_y = y;
    }
  }
  INFO("an error of " << worst << " ulp at pow(" << at_x << ", " << at_y << ")");
  CHECK(worst <= 0.8);
  CHECK(worst >= 0.49);
}

TEST_CASE("numerics: e^x of a float is that of a double, rounded", "[numerics]") {
  Stream stream(3, "float");
  for (int i = 0; i < 20'000; ++i) {
    const auto x = static_cast<float>(of_size(stream, -20, 8));
    const auto same_bits = [](float a, double b) {
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(static_cast<float>(b));
    };
    const auto wide = static_cast<double>(x);
    if (!same_bits(n::exp(x), n::exp(wide))) FAIL("at " << x);
  }
}

TEST_CASE("numerics: the bits are those of every other machine", "[numerics]") {
  Stream stream(4, "digest");
  std::uint64_t digest = 0;
  const auto add = [&](double value) {
    digest = psim::combine(digest, std::isnan(value) ? 1 : std::bit_cast<std::uint64_t>(value));
  };
  const Of functions[] = {n::exp,  n::log,  n::log1p,        n::log10,       n::log2,
                          n::tanh, n::erfc, n::sin_of_turns, n::cos_of_turns};
  for (int i = 0; i < 20'000; ++i) {
    const double any = any_finite(stream), u = stream.uniform();
    for (const double x : {any, u, stream.uniform(-30, 30), stream.uniform(-1, 1)}) {
      for (const Of function : functions) add(function(x));
      add(n::pow(u, x));
      add(n::pow(x, 3.7 * u));
    }
  }
  CHECK(digest == 0x2843d3aaa542a760U);
}

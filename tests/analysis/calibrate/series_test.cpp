// Properties of series, against series whose properties are known.
#include "analysis/calibrate/step_times.hpp"

#include <cmath>

#include "tests/analysis/calibrate/autoregression.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::test::ar1;

namespace {

std::vector<double> step_times(std::size_t steps, double r, std::uint64_t seed) {
  std::vector<double> series = ar1(steps, r, seed);
  for (double& one : series) one = std::exp(0.2 * one);
  return series;
}

// The share of 1000 logs whose intervals hold the true mean.
double coverage(std::size_t steps, double r) {
  constexpr int logs = 1000;
  const double truth = std::exp(0.02);
  int held = 0;
  for (std::uint64_t log = 0; log < logs; ++log) {
    const psim::statistics::Interval one = interval_of(mean_with_error(step_times(steps, r, log)));
    held += one.low <= truth && truth <= one.high ? 1 : 0;
  }
  return static_cast<double>(held) / logs;
}

}  // namespace

TEST_CASE("autocorrelation, memory and blocks of an autoregression", "[calibrate]") {
  const std::vector<double> series = ar1(100'000, 0.8, 1);
  const std::vector<double> rho = autocorrelation(series, 10);
  for (std::size_t lag = 0; lag <= 10; ++lag) CHECK(rho[lag] == Approx(std::pow(0.8, lag)).margin(0.03));
  CHECK(memory_of(series) == Approx(1.8 / 0.2).epsilon(0.1));  // (1 + r) / (1 - r)
  // For an AR(1) series Politis and White's constants are g(0) = sum of r^|k| and G = sum of |k| r^|k|, over
  // the variance: 9 and 40. The block is (2 G^2 / (4 / 3 g(0)^2))^(1/3) n^(1/3).
  CHECK(best_block(series) == Approx(std::cbrt(2 * 40 * 40 / (4.0 / 3 * 81) * 1e5)).epsilon(0.15));
  const std::vector<double> noise = ar1(10'000, 0, 2);
  CHECK(memory_of(noise) == Approx(1).margin(0.2));
  CHECK(best_block(noise) < 3);
  CHECK(memory_of(std::vector<double>(50, 3.0)) == 1);
  CHECK(best_block(std::vector<double>(50, 3.0)) == 1);
}

TEST_CASE("intervals of a mean know about its memory", "[calibrate]") {
  for (const double r : {0.0, 0.5, 0.9, 0.95}) {
    const double some = coverage(200, r), many = coverage(1000, r);
    INFO("r " << r << ": " << some << ", " << many);
    CHECK(some >= 0.9);  // independent steps would give 0.35 for r = 0.9
    CHECK(some <= 0.98);
    CHECK(many >= 0.93);
    CHECK(many <= 0.98);
  }
}

TEST_CASE("a mean without variation has no error", "[calibrate]") {
  const Mean mean = mean_with_error(std::vector<double>(20, 3.0));
  CHECK(mean.value == 3);
  CHECK(mean.error == 0);
  CHECK(chance_difference(mean, mean, 0.05) == 0);
}

TEST_CASE("two means differ by chance as rarely as asked", "[calibrate]") {
  for (const double r : {0.0, 0.5, 0.9}) {
    constexpr int logs = 1000;
    int beyond = 0;
    for (std::uint64_t log = 0; log < logs; ++log) {
      const std::vector<double> series = step_times(400, r, log);
      const Mean one = mean_with_error(std::span(series).first(200)),
                 other = mean_with_error(std::span(series).last(200));
      beyond += std::abs(one.value - other.value) > chance_difference(one, other, 0.05) ? 1 : 0;
    }
    INFO("r " << r << ": " << beyond);
    CHECK(beyond >= 20);
    CHECK(beyond <= 80);
  }
}

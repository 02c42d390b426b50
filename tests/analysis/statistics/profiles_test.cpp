// Goal: many conditions in one picture. Method: three arms under four conditions, by hand.
#include "analysis/statistics/time_to_target.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

using namespace psim::statistics;

namespace {
constexpr double miss = std::numeric_limits<double>::infinity();
const std::vector<std::vector<double>> times{{10, 30, 20, miss}, {20, 15, 20, miss}, {50, 15, miss, miss}};
}  // namespace

TEST_CASE("performance profiles by hand", "[statistics]") {
  const auto profiles = performance_profiles(times);
  CHECK(profiles[0].ratios == std::vector<double>{1, 1, 2, miss});
  CHECK(profiles[1].ratios == std::vector<double>{1, 1, 2, miss});
  CHECK(profiles[2].ratios == std::vector<double>{1, 5, miss, miss});
  CHECK(share_within(profiles[0], 1) == 0.5);
  CHECK(share_within(profiles[0], 1.99) == 0.5);
  CHECK(share_within(profiles[0], 2) == 0.75);
  CHECK(share_within(profiles[2], 4) == 0.25);
  CHECK(share_within(profiles[2], 5) == 0.5);
  CHECK_THROWS_AS(performance_profiles({{1, 2}, {1}}), std::invalid_argument);
  CHECK_THROWS_AS(performance_profiles({{0.0}}), std::invalid_argument);
}

TEST_CASE("the score of a profile is its area up to four times the best", "[statistics]") {
  const auto profiles = performance_profiles(times);
  CHECK(profile_score(profiles[0]) == Approx((0.5 * 1 + 0.75 * 2) / 3));
  CHECK(profile_score(profiles[2]) == Approx(0.25));
  CHECK(profile_score(profiles[2], 6) == Approx((0.25 * 4 + 0.5 * 1) / 5));
  CHECK(profile_score({{1, 1, 1}}) == 1);
  CHECK(profile_score({{miss, 4}}) == 0);
  CHECK_THROWS_AS(profile_score({{1}}, 1), std::invalid_argument);
  CHECK_THROWS_AS(profile_score({}), std::invalid_argument);
}

TEST_CASE("a Pareto front keeps what nothing beats", "[statistics]") {
  // time, bytes, accuracy
  const std::vector<Better> columns{Better::smaller, Better::smaller, Better::larger};
  const std::vector<std::vector<double>> rows{{10, 5, 0.9},   {12, 4, 0.9}, {12, 5, 0.9}, {10, 5, 0.9},
                                              {miss, 1, 0.1}, {9, 9, 0.8},  {9, 9, 0.7}};
  CHECK(pareto_front(rows, columns) == std::vector<bool>{true, true, false, true, true, true, false});
  CHECK(pareto_front({}, columns).empty());
  // Who is faster by a rounding only, and worse in bytes, is beaten.
  const double rounded = std::nextafter(10.0, 0.0);
  CHECK(pareto_front({{10, 4, 0.9}, {rounded, 5, 0.9}}, columns) == std::vector<bool>{true, false});
  CHECK_THROWS_AS(pareto_front({{1, 2}}, columns), std::invalid_argument);
  CHECK_THROWS_AS(pareto_front({{1, 2, miss - miss}}, columns), std::invalid_argument);
}

// Goal: quantiles as printed in tables, trimmed means and bands as made by hand.
#include "analysis/statistics/sample.hpp"

#include <cmath>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim::statistics;

TEST_CASE("a quantile between two values is on the line between them, or the lower one", "[statistics]") {
  const std::vector<double> values{7, 1, 3, 4};
  CHECK(quantile(values, 0) == 1);
  CHECK(quantile(values, 1) == 7);
  CHECK(quantile(values, 0.5) == 3.5);
  CHECK(quantile(values, 0.9) == Approx(4 + 0.7 * 3).epsilon(1e-15));  // numpy.quantile
  CHECK(quantile(values, 0.5, Between::lower) == 3);
  CHECK(median_of({2}) == 2);
  CHECK_THROWS_AS(quantile({}, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(quantile(values, 1.5), std::invalid_argument);
}

TEST_CASE("quantiles of Student's t are those of printed tables", "[statistics]") {
  struct Row {
    std::size_t degrees;
    double at_975, at_95, at_995;
  };
  const Row rows[] = {{1, 12.7062, 6.3138, 63.6567}, {2, 4.3027, 2.9200, 9.9248},
                      {3, 3.1824, 2.3534, 5.8409},   {4, 2.7764, 2.1318, 4.6041},
                      {9, 2.2622, 1.8331, 3.2498},   {10, 2.2281, 1.8125, 3.1693},
                      {29, 2.0452, 1.6991, 2.7564},  {120, 1.9799, 1.6577, 2.6174}};
  for (const Row& row : rows) {
    CHECK(std::abs(student_quantile(0.975, row.degrees) - row.at_975) < 6e-5);
    CHECK(std::abs(student_quantile(0.95, row.degrees) - row.at_95) < 6e-5);
    CHECK(std::abs(student_quantile(0.995, row.degrees) - row.at_995) < 6e-5);
    CHECK(student_quantile(0.025, row.degrees) ==
          Approx(-student_quantile(0.975, row.degrees)).epsilon(1e-12));
  }
  CHECK(student_quantile(0.75, 1) == Approx(1).epsilon(1e-14));                         // tan(pi / 4)
  CHECK(student_quantile(0.9, 2) == Approx(0.8 * std::sqrt(2 / 0.36)).epsilon(1e-14));  // closed form
  CHECK_THROWS_AS(student_quantile(1, 3), std::invalid_argument);
  CHECK_THROWS_AS(student_quantile(0.5, 0), std::invalid_argument);
}

TEST_CASE("mean, spread and Student's interval by hand", "[statistics]") {
  const std::vector<double> values{1, 2, 4, 5};
  CHECK(mean_of(values) == 3);
  CHECK(*sd_of(values) == Approx(std::sqrt(10.0 / 3)));
  CHECK(student_interval(values)->low == Approx(3 - 3.18244630528371 * std::sqrt(10.0 / 12)).epsilon(1e-12));
  CHECK(student_interval(values)->high == Approx(3 + 3.18244630528371 * std::sqrt(10.0 / 12)).epsilon(1e-12));
  CHECK_FALSE(sd_of(std::vector{1.0}).has_value());
  CHECK_FALSE(student_interval(std::vector{1.0}).has_value());
  CHECK_THROWS_AS(mean_of({}), std::invalid_argument);
}

TEST_CASE("a band is the mean of the last values, where all curves are", "[statistics]") {
  const std::vector<Curve> curves{{{0, 10}, {2, 6}, {4, 2}}, {{0, 8}, {3, 4}, {9, 1}}};
  CHECK(overlap_of(curves)->begin_s == 0);
  CHECK(overlap_of(curves)->end_s == 4);
  const auto band = mean_band(curves, 5);  // at 0, 1, 2, 3, 4
  REQUIRE(band.size() == 5);
  const double means[] = {9, 9, 7, 5, 3}, spreads[] = {1, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(band[i].time_s == static_cast<double>(i));
    CHECK(band[i].mean == means[i]);
    CHECK(*band[i].sd == Approx(spreads[i] * std::sqrt(2.0)));
    CHECK(band[i].interval->high - band[i].mean == Approx(12.7062047361747 * spreads[i]));
  }
}

TEST_CASE("curves that do not overlap have no band, one alone has no spread", "[statistics]") {
  CHECK(mean_band(std::vector<Curve>{{{0, 1}, {1, 2}}, {{2, 1}, {3, 2}}}).empty());
  CHECK(mean_band({}).empty());
  const auto alone = mean_band(std::vector<Curve>{{{0, 1}, {1, 2}}}, 2);
  CHECK(alone.back().mean == 2);
  CHECK_FALSE(alone.back().interval.has_value());
  CHECK_THROWS_AS(mean_band(std::vector<Curve>{{}}), std::invalid_argument);
  CHECK_THROWS_AS(mean_band(std::vector<Curve>{{{1, 1}, {0, 2}}}), std::invalid_argument);
  CHECK_THROWS_AS(mean_band({}, 1), std::invalid_argument);
}

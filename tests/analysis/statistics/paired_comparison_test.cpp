// Goal: arms are compared seed by seed, with intervals that do not depend on the order of the seeds or on
// units. Method: small pairs by hand, properties of random ones, and a quick look at coverage.
#include "analysis/statistics/paired_comparison.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "tests/coverage/shapes.hpp"
#include "tests/support/catch.hpp"

using namespace psim::statistics;
using psim::test::draw_study;
using psim::test::shapes;

namespace {

const std::vector<Pair> ten{{8.1, 10.2}, {7.4, 9.1}, {9.0, 10.9}, {8.8, 10.1}, {7.9, 9.9},
                            {8.3, 11.0}, {7.2, 9.4}, {8.6, 10.4}, {9.3, 11.5}, {8.0, 9.6}};

std::vector<Pair> any_pairs() {
  std::vector<Pair> pairs;
  const int size = *rc::gen::inRange(2, 14);
  for (int i = 0; i < size; ++i)
    pairs.push_back({*rc::gen::inRange(1, 50) / 4.0, *rc::gen::inRange(1, 50) / 4.0});
  return pairs;
}

constexpr Resampling quick{.seed = 3, .resamples = 400};

bool near(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(a)); }
bool contains(const Estimate& e) { return e.interval.low <= e.value && e.value <= e.interval.high; }
bool same(const Interval& a, const Interval& b) { return a.low == b.low && a.high == b.high; }

}  // namespace

TEST_CASE("a comparison of pairs by hand", "[statistics]") {
  const PairedComparison c = compare_pairs(ten);
  CHECK(c.seeds == 10);
  CHECK(c.difference.value == Approx(8.26 - 10.21));
  CHECK(c.ratio->value == Approx(0.80853782));
  CHECK(c.better == 1);
  CHECK(c.unpaired_better == 0.99);  // 9.3 is more than 9.1
  CHECK(c.test.p == 2 / 1024.0);
  CHECK(c.trustworthy);
  CHECK(compare_pairs(ten, Better::larger).better == 0);
}

TEST_CASE("shared luck of a seed does not widen the interval", "[statistics]") {
  std::vector<Pair> pairs;
  for (int i = 0; i < 12; ++i) pairs.push_back({100.0 * i + 1 + 0.01 * (i % 3), 100.0 * i + 2});
  const Estimate difference = mean_difference(pairs);
  CHECK(difference.interval.high - difference.interval.low < 0.02);
}

TEST_CASE("the ratio of each seed counts alike, however long its runs", "[statistics]") {
  // Twice, three times and four times as long: the cube root of 24. The means' ratio would be 3.99.
  const PairedComparison c = compare_pairs(std::vector<Pair>{{2, 1}, {30, 10}, {4000, 1000}});
  CHECK(c.ratio->value == Approx(std::cbrt(24.0)));
  CHECK(c.ratio->interval.low > 1);
}

TEST_CASE("a single seed bounds nothing, and few seeds little", "[statistics]") {
  const PairedComparison one = compare_pairs(std::span(ten).first(1));
  CHECK(one.ratio->value == Approx(8.1 / 10.2));
  CHECK(one.ratio->interval.low == 0);
  CHECK(std::isinf(one.ratio->interval.high));
  CHECK(std::isinf(one.difference.interval.low));
  CHECK_FALSE(one.trustworthy);
  // As wide as Student's interval, give or take a sixth: 12.7 and 4.3 standard errors.
  for (const std::size_t seeds : {2, 3}) {
    const std::span<const Pair> few = std::span(ten).first(seeds);
    std::vector<double> differences;
    for (const Pair& pair : few) differences.push_back(pair.arm - pair.baseline);
    const Interval own = mean_difference(few).interval, student = *student_interval(differences);
    CHECK((own.high - own.low) / (student.high - student.low) == Approx(1).epsilon(0.17));
    CHECK_FALSE(compare_pairs(few).trustworthy);
  }
  CHECK_FALSE(compare_pairs(std::span(ten).first(4)).trustworthy);
  CHECK(compare_pairs(std::span(ten).first(5)).trustworthy);
}

TEST_CASE("differences without spread have an interval without width", "[statistics]") {
  const std::vector<Pair> alike(12, Pair{2, 4});
  const Interval ratio = compare_pairs(alike).ratio->interval;
  CHECK(ratio.low == Approx(0.5));
  CHECK(ratio.low == ratio.high);
  CHECK_FALSE(compare_pairs(alike).trustworthy);
  std::vector<Pair> alike_but_for_rounding;
  for (int i = 1; i <= 12; ++i) alike_but_for_rounding.push_back({0.1 * i, 0.1 * i + 0.2});
  const Estimate rounded = mean_difference(alike_but_for_rounding);
  CHECK(same(rounded.interval, {rounded.value, rounded.value}));
  CHECK_FALSE(compare_pairs(alike_but_for_rounding).trustworthy);
}

TEST_CASE("what has no interval is refused", "[statistics]") {
  CHECK_FALSE(compare_pairs(std::vector<Pair>{{0, 1}, {1, 2}}).ratio.has_value());
  CHECK_THROWS_AS(compare_pairs({}), std::invalid_argument);
  CHECK_THROWS_AS(compare_pairs(std::vector<Pair>{{INFINITY, 1}}), std::invalid_argument);
  CHECK_THROWS_AS(mean_difference(ten, {.resamples = 10}), std::invalid_argument);
}

// The seed of all intervals is one: what it does to one width it does to all.
TEST_CASE("a width does not depend on the bootstrap's seed", "[statistics]") {
  const std::size_t seeds = GENERATE(5, 10);
  const std::span<const Pair> pairs = std::span(ten).first(seeds);
  const auto width = [&](std::uint64_t seed) {
    const Interval i = mean_difference(pairs, {.seed = seed}).interval;
    return i.high - i.low;
  };
  double mean = 0;
  for (std::uint64_t seed = 2; seed < 10; ++seed) mean += width(seed) / 8;
  CHECK(std::abs(width(1) / mean - 1) < 0.003);
}

TEST_CASE("an interval is the same for ever", "[statistics]") {
  const PairedComparison c = compare_pairs(ten);
  CHECK(same(c.ratio->interval, compare_pairs(ten).ratio->interval));
  CHECK_FALSE(same(c.ratio->interval, compare_pairs(ten, Better::smaller, {.seed = 2}).ratio->interval));
  // Computed by tests/analysis/reanalysis.py, which has its own generator and formulas.
  const PairedComparison few = compare_pairs(ten, Better::smaller, {.seed = 1, .resamples = 2000});
  CHECK(few.difference.interval.low == Approx(-2.2165738008845044).epsilon(1e-12));
  CHECK(few.difference.interval.high == Approx(-1.683426199115495).epsilon(1e-12));
  CHECK(few.ratio->interval.low == Approx(0.7859291237432439).epsilon(1e-12));
  CHECK(few.ratio->interval.high == Approx(0.8317969020894846).epsilon(1e-12));
}

TEST_CASE("an interval has its estimate inside, whatever the order of the seeds", "[statistics]") {
  CHECK(rc::check([] {
    const auto pairs = any_pairs();
    const Estimate difference = mean_difference(pairs, quick);
    const auto ratio = mean_ratio(pairs, quick);
    RC_ASSERT(contains(difference));
    RC_ASSERT(contains(*ratio));
    auto turned = pairs;
    const auto by = *rc::gen::inRange<std::size_t>(0, pairs.size());
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(by), turned.end());
    RC_ASSERT(same(mean_difference(turned, quick).interval, difference.interval));
    RC_ASSERT(same(mean_ratio(turned, quick)->interval, ratio->interval));
  }));
}

TEST_CASE("other units change a difference by their factor, and a ratio not at all", "[statistics]") {
  CHECK(rc::check([] {
    const auto pairs = any_pairs();
    const double factor = *rc::gen::element(0.001, 0.25, 3.0, 3600.0);
    auto scaled = pairs;
    for (Pair& pair : scaled) pair = {pair.arm * factor, pair.baseline * factor};
    const Estimate before = mean_difference(pairs, quick), after = mean_difference(scaled, quick);
    RC_ASSERT(near(after.value, before.value * factor));
    RC_ASSERT(near(after.interval.low, before.interval.low * factor));
    RC_ASSERT(near(after.interval.high, before.interval.high * factor));
    RC_ASSERT(near(mean_ratio(scaled, quick)->interval.high, mean_ratio(pairs, quick)->interval.high));
  }));
}

TEST_CASE("swapping the arms inverts the ratio and its interval", "[statistics]") {
  CHECK(rc::check([] {
    auto pairs = any_pairs();
    const Estimate difference = mean_difference(pairs, quick), ratio = *mean_ratio(pairs, quick);
    RC_PRE(std::abs(std::log(ratio.value)) > 1e-9);
    for (Pair& pair : pairs) std::swap(pair.arm, pair.baseline);
    const Estimate other = mean_difference(pairs, quick), inverse = *mean_ratio(pairs, quick);
    RC_ASSERT(near(inverse.value, 1 / ratio.value));
    RC_ASSERT(near(std::log(inverse.interval.low), -std::log(ratio.interval.high)));
    RC_ASSERT(near(std::log(inverse.interval.high), -std::log(ratio.interval.low)));
    RC_ASSERT(difference.value == 0 || near(other.interval.low, -difference.interval.high));
  }));
}

// 500 studies of each shape: a binomial error of 1 point, and three of them below 94 and above 96 %.
// Thousands of studies: psim_coverage.
TEST_CASE("intervals of five and of ten seeds cover what they promise", "[statistics]") {
  constexpr std::size_t studies = 500;
  const std::size_t seeds = GENERATE(5, 10);
  const double error = 3 * psim::test::binomial_error(0.95, studies);
  for (const auto& shape : shapes()) {
    if (!shape.usual) continue;
    std::size_t differences = 0, ratios = 0;
    for (std::size_t study = 0; study < studies; ++study) {
      const auto pairs = draw_study(shape, seeds, study);
      const Resampling how{.seed = study + 1, .resamples = 199};
      differences += psim::test::covers(mean_difference(pairs, how).interval, shape.truth.difference);
      ratios += psim::test::covers(mean_ratio(pairs, how)->interval, std::exp(shape.truth.log_ratio));
    }
    CAPTURE(shape.name, differences, ratios);
    CHECK(std::abs(static_cast<double>(differences) / studies - 0.95) < 0.01 + error);
    CHECK(std::abs(static_cast<double>(ratios) / studies - 0.95) < 0.01 + error);
  }
}

TEST_CASE("a pilot decides the number of seeds, once", "[statistics]") {
  CHECK(plan_seeds({}).seeds == 10);
  CHECK_FALSE(plan_seeds(std::span(ten).first(9)).decided);
  const SeedPlan done = plan_seeds(ten, {.relative_half_width = 0.05});
  CHECK(done.done);
  CHECK(done.narrow);
  CHECK(done.seeds == 10);
  CHECK(done.ratio->value == Approx(0.80853782));

  const SeedPlan plan = plan_seeds(ten, {.relative_half_width = 0.01});
  CHECK(plan.decided);
  CHECK_FALSE(plan.done);
  CHECK_FALSE(plan.ratio.has_value());
  // t(9) is 2.262157; the standard deviation of log(arm / baseline) is 0.041737.
  CHECK(plan.seeds ==
        static_cast<std::size_t>(std::ceil(std::pow(2.262157 * 0.0417374 / std::log(1.01), 2))));

  // What comes later, however wild, does not change the number.
  std::vector<Pair> more = ten;
  while (more.size() < plan.seeds) more.push_back({more.size() % 2 == 0 ? 4.0 : 12.0, 10.0});
  const SeedPlan end = plan_seeds(more, {.relative_half_width = 0.01});
  CHECK(end.seeds == plan.seeds);
  REQUIRE(end.done);
  CHECK_FALSE(end.narrow);  // and the interval says so
  more.push_back({1000, 1});
  CHECK(plan_seeds(more, {.relative_half_width = 0.01}).ratio->value == end.ratio->value);

  CHECK_THROWS_AS(plan_seeds(ten, {.pilot = 5}), std::invalid_argument);
  CHECK_THROWS_AS(plan_seeds(ten, {.relative_half_width = 0}), std::invalid_argument);
  CHECK_THROWS_AS(plan_seeds(std::vector<Pair>{{0, 1}}), std::invalid_argument);
}

// 500 studies: a binomial error of 1 point, and three of them below 95 %.
TEST_CASE("two stages cover 95 % of a ratio", "[statistics]") {
  constexpr std::size_t studies = 500;
  const auto shape = shapes().front();
  std::size_t covered = 0;
  for (std::size_t study = 0; study < studies; ++study) {
    psim::Stream stream(5, "two stages", study);
    std::vector<Pair> pairs;
    SeedPlan plan;
    for (; !plan.done; plan = plan_seeds(pairs, {}, {.seed = study + 1, .resamples = 199})) {
      const std::size_t wanted = std::max<std::size_t>(plan.seeds, 10);
      while (pairs.size() < wanted) pairs.push_back(shape.draw(stream));
    }
    covered += psim::test::covers(plan.ratio->interval, std::exp(shape.truth.log_ratio));
  }
  CHECK(static_cast<double>(covered) / studies > 0.95 - 3 * psim::test::binomial_error(0.95, studies));
}

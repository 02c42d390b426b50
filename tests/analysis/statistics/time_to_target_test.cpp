// Goal: runs that missed their target count for what they say. Method: published worked examples, and what
// must hold of every sample.
#include "analysis/statistics/time_to_target.hpp"

#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "analysis/statistics/sample.hpp"
#include "tests/support/catch.hpp"

using namespace psim::statistics;

namespace {

TimedRun there(double time_s, double budget_s = 100) {
  return {.time_s = time_s, .reached = true, .budget_s = budget_s};
}
TimedRun missed(double budget_s) { return {.reached = false, .budget_s = budget_s}; }

// Weeks of remission under 6-MP: Freireich et al., The effect of 6-mercaptopurine on the duration of
// steroid-induced remissions in acute leukemia, Blood 21, 1963.
std::vector<TimedRun> remissions() {
  std::vector<TimedRun> runs;
  for (const double time : {6, 6, 6, 7, 10, 13, 16, 22, 23}) runs.push_back(there(time));
  for (const double time : {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35}) runs.push_back(missed(time));
  return runs;
}

std::vector<TimedRun> any_runs(double budget) {
  std::vector<TimedRun> runs;
  for (const int tenths :
       *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 200)))) {
    const double time = tenths / 10.0;
    runs.push_back(time <= budget ? there(time, budget) : missed(budget));
  }
  return runs;
}

double survival_at(const SurvivalCurve& curve, double time_s) {
  double survival = 1;
  for (const SurvivalStep& step : curve.steps) {
    if (step.time_s <= time_s) survival = step.survival;
  }
  return survival;
}

}  // namespace

TEST_CASE("the interval of a restricted mean is Student's where nothing is cut", "[statistics]") {
  const std::vector<double> times{3, 4.5, 5, 5, 7.25};
  std::vector<TimedRun> runs;
  for (const double time : times) runs.push_back(there(time));
  const auto mean = restricted_mean(kaplan_meier(runs), 100);
  const Interval own = *restricted_interval(*mean, runs.size(), std::numeric_limits<double>::infinity());
  const Interval student = *student_interval(times);
  CHECK(own.low == Approx(student.low).epsilon(1e-12));
  CHECK(own.high == Approx(student.high).epsilon(1e-12));
  // With one budget it is Student's interval of min(T, tau), as far as a mean can lie there.
  runs.push_back(missed(8));
  const Interval cut = *restricted_interval(*restricted_mean(kaplan_meier(runs), 8), runs.size(), 8);
  const Interval of_cut = *student_interval(std::vector<double>{3, 4.5, 5, 5, 7.25, 8});
  CHECK(cut.low == Approx(of_cut.low).epsilon(1e-12));
  CHECK(cut.high == Approx(of_cut.high).epsilon(1e-12));
  // No mean of times is below 0, or above tau.
  const Interval wide = *restricted_interval({.mean_s = 5, .variance_s2 = 16}, 2, 8);
  CHECK(wide.low == 0);
  CHECK(wide.high == 8);
  CHECK_FALSE(restricted_interval({.mean_s = 8}, 5, 8));  // nobody reached it
  CHECK_FALSE(restricted_interval({.mean_s = 5, .variance_s2 = 1}, 1, 8));
}

TEST_CASE("Kaplan and Meier of Freireich's remissions", "[statistics]") {
  const SurvivalCurve curve = kaplan_meier(remissions());
  struct Row {
    double time;
    std::size_t at_risk, reached;
    double survival, error;
  };
  // Kleinbaum and Klein, Survival analysis, table 2.3, and the standard errors of Collett, Modelling survival
  // data.
  const Row rows[] = {{6, 21, 3, 0.8571, 0.0764},  {7, 17, 1, 0.8067, 0.0869},  {10, 15, 1, 0.7529, 0.0963},
                      {13, 12, 1, 0.6902, 0.1068}, {16, 11, 1, 0.6275, 0.1141}, {22, 7, 1, 0.5378, 0.1282},
                      {23, 6, 1, 0.4482, 0.1346}};
  REQUIRE(curve.steps.size() == std::size(rows));
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CHECK(curve.steps[i].time_s == rows[i].time);
    CHECK(curve.steps[i].at_risk == rows[i].at_risk);
    CHECK(curve.steps[i].reached == rows[i].reached);
    CHECK(std::abs(curve.steps[i].survival - rows[i].survival) < 5.1e-5);
    CHECK(std::abs(std::sqrt(curve.steps[i].variance) - rows[i].error) < 1e-4);
  }
  CHECK(survival_at(curve, 5.9) == 1);
  CHECK(survival_at(curve, 12) == curve.steps[2].survival);
  CHECK(survival_median(curve) == 23.0);
  CHECK(curve.known_until_s == 35);
}

TEST_CASE("the restricted mean is the area under the curve, by hand", "[statistics]") {
  const SurvivalCurve curve = kaplan_meier(remissions());
  // 6 + 6/7 + 0.806723 * 3 + 0.752941 * 3 + 0.690196 * 3 + 0.627451 * 4
  const double until_20 =
      6 + 18.0 / 21 + 3 * (96.0 / 119) + 3 * (64.0 / 85) + 3 * (176.0 / 255) + 4 * (32.0 / 51);
  CHECK(restricted_mean(curve, 20)->mean_s == Approx(until_20).epsilon(1e-12));
  CHECK(restricted_mean(curve, 5)->mean_s == 5);
  CHECK(restricted_mean(curve, 5)->variance_s2 == 0);
  CHECK(restricted_mean(curve, 35).has_value());
  CHECK_FALSE(restricted_mean(curve, 35.1).has_value());

  // Two of three reach it, at 2 and 6, the other one gives up at 4: S is 1, 2/3, 0. Areas after 2: 8/3; the
  // last one 0.
  const SurvivalCurve small = kaplan_meier(std::vector{there(2), missed(4), there(6)});
  CHECK(restricted_mean(small, 9)->mean_s == Approx(2 + 4 * 2.0 / 3));
  CHECK(restricted_mean(small, 9)->variance_s2 == Approx(std::pow(8.0 / 3, 2) / (3 * 2)));
}

TEST_CASE("a missed run counts with the budget, not with silence", "[statistics]") {
  const std::vector<TimedRun> runs{there(2), there(4), missed(10), missed(12)};
  const TimeSummary summary = summarize_times(runs, 10);
  CHECK(summary.runs == 4);
  CHECK(summary.reached == 2);
  CHECK(summary.restricted_mean_s == 6.5);
  CHECK(*summary.restricted_sd_s == Approx(std::sqrt(17.0)));  // (4.5^2 + 2.5^2 + 2 * 3.5^2) / 3
  CHECK(summary.median_s == 4.0);
  CHECK(common_budget(runs) == 10);
  CHECK_FALSE(summarize_times(std::vector{there(2), missed(10), missed(10)}, 10).median_s.has_value());
  CHECK_FALSE(summarize_times(std::vector{there(2)}, 10).restricted_sd_s.has_value());
  CHECK(summarize_times(std::vector{there(2), there(11)}, 10).reached == 1);
  CHECK(std::isinf(common_budget(std::vector{there(2), there(3)})));
}

TEST_CASE("a run that gave up too early has no restricted time", "[statistics]") {
  CHECK_THROWS_WITH(restricted_time(missed(5), 10), Catch::Contains("Kaplan-Meier"));
  CHECK_THROWS_WITH(restricted_time(there(5, 4), 10), Catch::Contains("between 0 and the run's budget"));
  CHECK_THROWS_AS(summarize_times({}, 10), std::invalid_argument);
  CHECK_THROWS_AS(kaplan_meier({}), std::invalid_argument);
}

TEST_CASE("with one budget, both ways to a restricted mean agree", "[statistics]") {
  CHECK(rc::check([] {
    const auto runs = any_runs(15);
    const double tau = *rc::gen::inRange(1, 150) / 10.0;
    const SurvivalCurve curve = kaplan_meier(runs);
    const TimeSummary summary = summarize_times(runs, tau);
    const auto area = restricted_mean(curve, tau);
    RC_ASSERT(area.has_value());
    RC_ASSERT(std::abs(area->mean_s - summary.restricted_mean_s) < 1e-9);
    // Greenwood's variance is then the variance of the mean, by n.
    const auto n = static_cast<double>(runs.size());
    if (summary.restricted_sd_s)
      RC_ASSERT(std::abs(area->variance_s2 - std::pow(*summary.restricted_sd_s, 2) * (n - 1) / n / n) < 1e-9);
    const auto median = survival_median(curve);
    RC_ASSERT(summary.median_s == (median && *median <= tau ? median : std::nullopt));
  }));
}

TEST_CASE("without misses the curve is the share of longer runs", "[statistics]") {
  CHECK(rc::check([] {
    const auto runs = any_runs(1000);
    const SurvivalCurve curve = kaplan_meier(runs);
    RC_ASSERT(std::isinf(curve.known_until_s));
    for (const TimedRun& run : runs) {
      std::size_t longer = 0;
      for (const TimedRun& other : runs) longer += other.time_s > run.time_s;
      const double share = static_cast<double>(longer) / static_cast<double>(runs.size());
      RC_ASSERT(std::abs(survival_at(curve, run.time_s) - share) < 1e-12);
    }
  }));
}

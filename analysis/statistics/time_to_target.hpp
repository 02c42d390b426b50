// Time to a target when some runs miss it. A run that missed its target within its budget says "more than the
// budget": leaving it out would be a mean over lucky seeds, taking its length for a time would be a lie.
//
// All runs have the same budget tau: mean of min(T, tau), the restricted mean. Different budgets: the area
// under the Kaplan-Meier curve up to tau, which is the same number when the budgets are equal. Simulated
// seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/statistics/sample.hpp"

namespace psim::statistics {

struct TimedRun {
  std::uint64_t seed = 0;
  double time_s = 0;  // to the target; of no meaning if it was missed
  bool reached = false;
  double budget_s = 0;  // how long the run would have gone on; at least time_s if it reached the target
};

// min(T, tau), and whether T <= tau. Throws std::invalid_argument if the run gave up before tau.
double restricted_time(const TimedRun& run, double tau_s);

// The largest tau for which every run has a restricted time: the smallest budget of those that missed the
// target, and infinite if all reached it.
double common_budget(std::span<const TimedRun> runs);

struct TimeSummary {
  double tau_s = 0;
  std::size_t runs = 0;
  std::size_t reached = 0;  // with T <= tau
  double restricted_mean_s = 0;
  std::optional<double> restricted_sd_s;  // of min(T, tau), by n - 1; absent for a single run
  std::optional<double>
      median_s;  // the first time at which half of the runs are there; absent: more than tau
};
// Throws std::invalid_argument for no runs, and for a run that gave up before tau.
TimeSummary summarize_times(std::span<const TimedRun> runs, double tau_s);

// One step down of the curve: the estimated share of runs that need longer than time_s.
struct SurvivalStep {
  double time_s = 0;
  std::size_t at_risk = 0;  // runs that had neither reached the target nor given up before time_s
  std::size_t reached = 0;  // at time_s
  double survival = 1;      // from time_s on
  double variance = 0;      // of survival (Greenwood, 1926)
};
struct SurvivalCurve {
  std::vector<SurvivalStep> steps;  // by time; survival is 1 before the first one
  double known_until_s = 0;         // infinite once survival is 0; otherwise the last time of all runs
};
// Kaplan and Meier, Nonparametric estimation from incomplete observations, 1958. A run that gives up at the
// moment at which another one reaches the target was still at risk then.
SurvivalCurve kaplan_meier(std::span<const TimedRun> runs);

double survival_at(const SurvivalCurve& curve, double time_s);

// The first time at which the curve is at 1/2 or below.
std::optional<double> survival_median(const SurvivalCurve& curve);

struct RestrictedMean {
  double mean_s = 0;
  double variance_s2 = 0;  // of the mean: sum of (area from t_i to tau)^2 d_i / (n_i (n_i - d_i))
};
// Absent where tau lies beyond what the curve knows: nothing is extrapolated.
std::optional<RestrictedMean> restricted_mean(const SurvivalCurve& curve, double tau_s);

// 95 % for that mean: mean +- t sqrt(n / (n - 1) variance), with Student's t of n - 1 degrees for n runs:
// Student's interval of the times, where no run was lost from sight. Cut where no mean can lie: below 0 and
// above `most_s`, which is tau, or infinite where every run reached its target. Absent for a single run, and
// where no run reached the target: that says nothing of a spread.
std::optional<Interval> restricted_interval(const RestrictedMean& mean, std::size_t runs, double most_s);

}  // namespace psim::statistics

// Time to a target if some runs miss it. The time of such a run is only known to be more than its budget.
// Without these runs the mean would cover only lucky seeds; with their lengths as times it would be wrong.
//
// With one budget tau for all runs: the mean of min(T, tau), called restricted mean. With different budgets:
// the area under the Kaplan-Meier curve up to tau, which gives the same number for equal budgets. All times
// are simulated seconds.
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
  double time_s = 0;  // to the target; meaningless if missed
  bool reached = false;
  double budget_s = 0;  // how long the run would have continued; at least time_s if it reached the target
};

// min(T, tau), and whether T <= tau. Throws std::invalid_argument if the run gave up before tau.
double restricted_time(const TimedRun& run, double tau_s);

// The largest tau for which every run has a restricted time: the smallest budget of runs that missed the
// target; infinite if all reached it.
double common_budget(std::span<const TimedRun> runs);

struct TimeSummary {
  double tau_s = 0;
  std::size_t runs = 0;
  std::size_t reached = 0;  // with T <= tau
  double restricted_mean_s = 0;
  std::optional<double> restricted_sd_s;  // of min(T, tau), by n - 1; absent for a single run
  // The first time by which half of the runs reached the target; absent: later than tau.
  std::optional<double> median_s;
};
// Throws std::invalid_argument without runs, and for a run that gave up before tau.
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
  double known_until_s = 0;         // infinite if survival reaches 0; otherwise the last time of all runs
};
// Kaplan and Meier, Nonparametric estimation from incomplete observations, 1958. A run that gives up at the
// date when another run reaches the target is still at risk at that date.
SurvivalCurve kaplan_meier(std::span<const TimedRun> runs);

// The first time at which the curve is at 1/2 or below.
std::optional<double> survival_median(const SurvivalCurve& curve);

struct RestrictedMean {
  double mean_s = 0;
  double variance_s2 = 0;  // of the mean: sum of (area from t_i to tau)^2 d_i / (n_i (n_i - d_i))
};
// Absent if tau is beyond the known part of the curve: psim does not extrapolate.
std::optional<RestrictedMean> restricted_mean(const SurvivalCurve& curve, double tau_s);

// The 95 % interval of that mean: mean +- t sqrt(n / (n - 1) variance), with Student's t of n - 1 degrees for
// n runs. If no run is censored, this is Student's interval of the times. It is cut to possible means: from 0
// to `most_s`, which is tau, or infinite if every run reached its target. Absent for a single run, and if no
// run reached the target: then the spread is unknown.
std::optional<Interval> restricted_interval(const RestrictedMean& mean, std::size_t runs, double most_s);

// Many arms under many conditions: how near the times of each arm are to the best times, and which arms are
// worse in everything.

// Dolan and More, Benchmarking optimization software with performance profiles, 2002. The times of one arm,
// divided by the best time under the same condition, in ascending order; infinite if the arm missed the
// target.
struct Profile {
  std::vector<double> ratios;
};

// times[arm][condition], positive, infinite for a miss; a condition that all arms miss counts as a miss for
// each. Throws std::invalid_argument for arms with unequal numbers of conditions.
std::vector<Profile> performance_profiles(const std::vector<std::vector<double>>& times);

// rho(tau): the share of conditions with a ratio of at most tau.
double share_within(const Profile& profile, double tau);

// Area under rho from 1 to r_max, divided by r_max - 1: 1 is best under every condition, 0 is never within
// r_max of the best (Dahl et al., Benchmarking neural network training algorithms, 2023).
double profile_score(const Profile& profile, double r_max = 4);

// rows[arm][column]: true for arms that no other arm beats. An arm beats another if it is at least as good in
// every column and better in one. Equal rows stay. Values may be infinite; NaN throws std::invalid_argument.
std::vector<bool> pareto_front(const std::vector<std::vector<double>>& rows, std::span<const Better> columns);

}  // namespace psim::statistics

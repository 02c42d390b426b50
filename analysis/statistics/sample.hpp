// Numbers about one sample. Sums run in the order of the values; functions whose result must not depend on
// that order sort first. Formulas and their sources: docs/statistics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace psim::statistics {

// [low, high]; infinite on a side without a bound.
struct Interval {
  double low = 0;
  double high = 0;
};

// Mean, deviation and quantile throw std::invalid_argument without values.
double mean_of(std::span<const double> values);
std::optional<double> sd_of(std::span<const double> values);  // by n - 1; absent for a single value

// The quantile at `share`, in [0, 1]. Between two values: on the line between them (type 7 of Hyndman and
// Fan, Sample quantiles in statistical packages, 1996, as in NumPy and R), or the lower one.
enum class Between : std::uint8_t { line, lower };
double quantile(std::vector<double> values, double share, Between between = Between::line);
inline double median_of(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// The x with P(T <= x) = p for Student's t with `degrees` degrees of freedom (Abramowitz and Stegun, Handbook
// of mathematical functions, 1964, equations 26.7.3 and 26.7.4). Throws std::invalid_argument for p outside
// (0, 1) and for 0 degrees.
double student_quantile(double p, std::size_t degrees);

// mean +- t * sd / sqrt(n) with 95 % confidence; absent for a single value.
std::optional<Interval> student_interval(std::span<const double> values);

// mean +- t * sd * sqrt(1 + 1 / n): holds one further value of the same normal distribution with 95 %
// probability (Hahn and Meeker, Statistical intervals, 1991, section 4.8). Absent for a single value.
std::optional<Interval> prediction_interval(std::span<const double> values);

// Could the difference be luck? Tests that assume no distribution.
struct SignFlip {
  double p = 1;       // two-sided
  bool exact = true;  // all 2^n sign vectors were tried; otherwise random ones
};
constexpr std::size_t most_exact_flips = 16;  // differences: 65,536 ways

// p is at least 2 / 2^n. With fewer differences p hardly survives a correction, however clear the differences
// are.
constexpr std::size_t fewest_flips = 10;

// If the two arms are alike, each difference could have the other sign. p is the share of all ways to set the
// signs whose sum is at least as far from 0 (Fisher, The design of experiments, 1935, section 21). Beyond
// `most_exact_flips` differences: (1 + hits) / (1 + draws) over random signs (Phipson and Smyth, 2010).
SignFlip sign_flip(std::span<const double> differences, std::uint64_t seed = 1, std::size_t draws = 20'000);

// The number of seeds with which only one of the two arms reached the target.
struct Discordant {
  std::size_t arm = 0, baseline = 0;  // by the arm that reached it
};
// Could luck decide which arm reached it? Exact, two-sided (McNemar, Note on the sampling error of the
// difference between correlated proportions or percentages, 1947): the share of all 2^d ways to set d signs
// that are at least as unequal. 1 if no seed is discordant. Throws std::invalid_argument beyond 10,000.
double mcnemar(const Discordant& runs);

// Could luck decide which arm is faster with how many seeds? Exact, two-sided (Dixon and Mood, The
// statistical sign test, 1946): the formula of McNemar's test. `faster`: without ties. The order of two runs
// is known if the faster one reached its target before the other one gave up (Gehan, A generalized Wilcoxon
// test for comparing arbitrarily singly-censored samples, 1965); other pairs are ties. So the budgets of runs
// may differ.
inline double sign_test(const Discordant& faster) { return mcnemar(faster); }

// The fewest seeds with which the clearest of `tests` comparisons can have a corrected p of at most `level`.
// With n seeds the p of the sign-flip test and of McNemar's test is at least 2 / 2^n, and after Holm's
// correction at least `tests` times that.
std::size_t seeds_for_holm(std::size_t tests, double level = 0.05);

// Step-down correction of a family of tests (Holm, A simple sequentially rejective multiple test procedure,
// 1979): corrected p values, in the order given; no value is smaller than its raw p.
std::vector<double> holm(std::span<const double> p);

// Which values are better.
enum class Better { smaller, larger };

// The share of all pairs (x of arm, y of baseline) where x is better; ties count half: Mann-Whitney's U / (n
// m).
double probability_of_better(std::span<const double> arm, std::span<const double> baseline, Better better);

// Combines the curves of several seeds: their mean and spread.

struct CurvePoint {
  double time_s = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;  // by time; a value holds until the next point

struct BandPoint {
  double time_s = 0;
  double mean = 0;
  std::optional<double> sd;  // by n - 1; absent for a single curve
  std::optional<Interval>
      interval;  // Student's 95 % interval for the mean at this single time; absent for a single curve
};

// The time from the latest beginning to the earliest end of the curves. After an end the mean would cover
// only the remaining runs, which are the slow ones.
struct Overlap {
  double begin_s = 0;
  double end_s = 0;
};
std::optional<Overlap> overlap_of(std::span<const Curve> curves);  // absent if they do not overlap

// `points` times at equal distances over the overlap, both ends included; empty without overlap. Throws
// std::invalid_argument for curves that are empty or not in order of time, and for fewer than two points.
std::vector<BandPoint> mean_band(std::span<const Curve> curves, std::size_t points = 200);

}  // namespace psim::statistics

// Compares an arm with the baseline, seed by seed: runs with the same seed have the same data, draws and
// stragglers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/statistics/sample.hpp"

namespace psim::statistics {

// Intervals for the mean difference and the mean ratio of two arms over the same seeds: a symmetric
// studentised bootstrap (Efron, 1979; Hall, On symmetric bootstrap confidence intervals, 1988) of smoothed
// resamples (Silverman and Young, The bootstrap: to smooth or not to smooth?, 1987). docs/statistics.md has
// its measured coverage, and that of alternatives.

// The values of two arms under one seed.
struct Pair {
  double arm = 0;
  double baseline = 0;
};

struct Resampling {
  std::uint64_t seed = 1;
  std::size_t resamples = 0;  // 0: resamples_for
  double confidence = 0.95;
};

// Enough resamples that a width does not depend on the seed: its standard error is 0.13 % for ten values. All
// intervals use the same seed, so 10,000 resamples would make all of them too wide or too narrow together, by
// 1 to 2 %.
std::size_t resamples_for(std::size_t values);

struct Estimate {
  double value = 0;
  Interval interval;
};

// The mean of arm - baseline. Swapping the arms changes the sign of the estimate and of both bounds.
Estimate mean_difference(std::span<const Pair> pairs, const Resampling& how = {});

// The geometric mean of arm / baseline; absent unless all values are positive. Swapping the arms inverts the
// estimate and both bounds.
std::optional<Estimate> mean_ratio(std::span<const Pair> pairs, const Resampling& how = {});

// From this number of seeds on, intervals cover 94 to 96 % (docs/statistics.md lists exceptions).
constexpr std::size_t fewest_seeds = 5;

struct PairedComparison {
  std::size_t seeds = 0;
  Estimate difference;            // mean of arm - baseline
  std::optional<Estimate> ratio;  // geometric mean of arm / baseline; absent unless all are positive
  double better = 0.5;            // share of seeds with which the arm is better; ties count half
  double unpaired_better = 0.5;   // the same over all pairs of runs: U / (n m)
  SignFlip test;
  bool trustworthy = false;  // at least `fewest_seeds` seeds, differences that differ, and bounds
};

// The order of pairs does not matter. Throws std::invalid_argument without pairs, and for values that are not
// finite.
PairedComparison compare_pairs(std::span<const Pair> pairs, Better better = Better::smaller,
                               const Resampling& how = {});

// The numbers of pairs whose arm, and whose baseline, has the smaller value.
Discordant order_of(std::span<const Pair> pairs);

// How many seeds make the interval of a ratio narrow enough? A test after each seed, with a stop as soon as
// the interval is narrow, stops when it is narrow by chance, and the coverage is too low. Two stages test
// once (Stein, A two-sample test for a linear hypothesis whose power is independent of the variance, 1945): a
// pilot decides the number, and nothing later changes it.
//
// Stein's own interval also takes its width from the pilot, which is exact for normal values. psim uses the
// usual interval of all seeds: it has the usual coverage, but may be wider than asked.

struct Precision {
  double relative_half_width = 0.05;  // the interval must lie within [ratio / 1.05, ratio * 1.05]
  std::size_t pilot = 10;             // seeds; at least 10
};

struct SeedPlan {
  std::size_t seeds = 0;  // in total: the size of the pilot until it is complete, then the decided number
  bool decided = false;   // the pilot is complete
  bool done = false;      // all decided pairs are there
  std::optional<Estimate> ratio;  // mean_ratio; absent until done, because looking early misleads
  bool narrow = false;            // done, and the interval is as narrow as asked
};

// Pairs in the order in which their seeds were run: the first `pilot` of them decide. Pairs beyond the
// decided number do not count. Throws std::invalid_argument for values that are not positive and for a pilot
// below 10.
SeedPlan plan_seeds(std::span<const Pair> pairs, const Precision& precision = {}, const Resampling& how = {});

}  // namespace psim::statistics

// Compares an arm with the baseline, seed by seed: runs with the same seed have the same data, draws and
// stragglers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analysis/statistics/paired_intervals.hpp"
#include "analysis/statistics/significance.hpp"

namespace psim::statistics {

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

}  // namespace psim::statistics

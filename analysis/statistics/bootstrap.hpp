// Intervals for the difference and the ratio of two means over the same seeds: the studentised bootstrap
// (Efron, 1979; Hall, Theoretical comparison of bootstrap confidence intervals, 1988). docs/statistics.md has
// its measured coverage, and that of what was tried beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "analysis/statistics/sample.hpp"

namespace psim::statistics {

// The values of two arms under one seed.
struct Pair {
  double arm = 0;
  double baseline = 0;
};

struct Resampling {
  std::uint64_t seed = 1;
  std::size_t resamples = 10'000;
  double confidence = 0.95;
};

struct Estimate {
  double value = 0;
  Interval interval;
};

// mean(arm) - mean(baseline), which is the mean of the differences.
Estimate mean_difference(std::span<const Pair> pairs, const Resampling& how = {});

// mean(arm) / mean(baseline); absent unless all values are positive.
std::optional<Estimate> ratio_of_means(std::span<const Pair> pairs, const Resampling& how = {});

}  // namespace psim::statistics

// How many seeds make the interval of a ratio narrow enough? A test after each seed, with a stop as soon as
// the interval is narrow, stops when it is narrow by chance, and the coverage is too low. Two stages test
// once (Stein, A two-sample test for a linear hypothesis whose power is independent of the variance, 1945): a
// pilot decides the number, and nothing later changes it.
//
// Stein's own interval also takes its width from the pilot, which is exact for normal values. psim uses the
// usual interval of all seeds: it has the usual coverage, but may be wider than asked.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analysis/statistics/paired_comparison.hpp"

namespace psim::statistics {

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

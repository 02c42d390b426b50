// How many seeds make the interval of a ratio as narrow as wanted? Whoever looks after each seed and stops as
// soon as the interval is narrow stops when it is narrow by chance, and covers less than he says. Stein's two
// stages (A two-sample test for a linear hypothesis whose power is independent of the variance, 1945) look
// once: a pilot decides the number, and nothing later changes it.
#pragma once

#include <cstddef>
#include <span>

#include "analysis/statistics/bootstrap.hpp"

namespace psim::statistics {

struct Precision {
  double relative_half_width = 0.05;  // the interval is within [ratio / 1.05, ratio * 1.05]
  double confidence = 0.95;
  std::size_t pilot = 10;  // seeds; at least 10
};

struct SeedPlan {
  std::size_t seeds = 0;  // in total: the pilot's until it is complete, what it decided from then on
  bool decided = false;   // the pilot is complete
  bool done = false;      // there are as many pairs as that
  Estimate ratio;         // of all pairs so far; its interval has its confidence only when done
};

// Pairs in the order in which their seeds were run: the first `pilot` of them decide. Pairs beyond the
// decided number do not count. Throws std::invalid_argument for no pairs, a mean that is not positive, a
// pilot below 10.
SeedPlan plan_seeds(std::span<const Pair> pairs, const Precision& precision = {});

}  // namespace psim::statistics

#include "analysis/statistics/paired_comparison.hpp"

#include <cmath>

namespace psim::statistics {

PairedComparison compare_pairs(std::span<const Pair> pairs, Better better, const Resampling& how) {
  PairedComparison result{
      .seeds = pairs.size(), .difference = mean_difference(pairs, how), .ratio = mean_ratio(pairs, how)};
  std::vector<double> arm, baseline, differences;
  double wins = 0;
  for (const Pair& pair : pairs) {
    arm.push_back(pair.arm);
    baseline.push_back(pair.baseline);
    differences.push_back(pair.arm - pair.baseline);
    if (pair.arm == pair.baseline) wins += 0.5;
    else wins += (better == Better::smaller) == (pair.arm < pair.baseline);
  }
  result.better = wins / static_cast<double>(pairs.size());
  result.unpaired_better = probability_of_better(arm, baseline, better);
  result.test = sign_flip(differences, how.seed);
  const Interval& interval = result.difference.interval;
  const bool bounded = std::isfinite(interval.low) && interval.low < interval.high;
  result.trustworthy = pairs.size() >= fewest_seeds && bounded;
  return result;
}

Discordant order_of(std::span<const Pair> pairs) {
  Discordant order;
  for (const Pair& pair : pairs) {
    order.arm += pair.arm < pair.baseline;
    order.baseline += pair.baseline < pair.arm;
  }
  return order;
}

}  // namespace psim::statistics

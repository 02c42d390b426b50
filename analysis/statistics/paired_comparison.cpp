#include "analysis/statistics/paired_comparison.hpp"

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace psim::statistics {
namespace {

std::map<std::uint64_t, double> by_seed(std::span<const SeedValue> values) {
  std::map<std::uint64_t, double> result;
  for (const SeedValue& value : values) {
    if (!result.emplace(value.seed, value.value).second)
      throw std::invalid_argument("seed " + std::to_string(value.seed) +
                                  " is there twice: pairs need one run of each");
  }
  return result;
}

}  // namespace

std::vector<Pair> pair_by_seed(std::span<const SeedValue> arm, std::span<const SeedValue> baseline) {
  const std::map<std::uint64_t, double> arms = by_seed(arm), others = by_seed(baseline);
  std::vector<Pair> pairs;
  for (const auto& [seed, value] : arms) {
    const auto other = others.find(seed);
    if (other != others.end()) pairs.push_back({value, other->second});
  }
  return pairs;
}

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

}  // namespace psim::statistics

#include "analysis/statistics/sample_size.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace psim::statistics {
namespace {

// The standard deviation of the logarithms of the ratios of seeds.
double spread_of(std::span<const Pair> pairs) {
  std::vector<double> logs;
  for (const Pair& pair : pairs) logs.push_back(std::log(pair.arm) - std::log(pair.baseline));
  return *sd_of(logs);
}

}  // namespace

SeedPlan plan_seeds(std::span<const Pair> pairs, const Precision& precision, const Resampling& how) {
  if (precision.pilot < 10) throw std::invalid_argument("a pilot needs at least 10 seeds");
  if (!(precision.relative_half_width > 0)) throw std::invalid_argument("an interval needs a width above 0");
  for (const Pair& pair : pairs) {
    if (!(pair.arm > 0 && pair.baseline > 0 && std::isfinite(pair.arm) && std::isfinite(pair.baseline)))
      throw std::invalid_argument("a ratio needs values that are positive and finite");
  }
  if (pairs.size() < precision.pilot) return {.seeds = precision.pilot};

  const std::span<const Pair> pilot = pairs.first(precision.pilot);
  const double half = std::log1p(precision.relative_half_width);  // on the scale of the logarithm
  const double t = student_quantile(0.5 + how.confidence / 2, pilot.size() - 1);
  const double wanted = std::ceil(std::pow(t * spread_of(pilot) / half, 2));
  SeedPlan plan{.decided = true};
  plan.seeds = std::max(precision.pilot, static_cast<std::size_t>(wanted));
  plan.done = pairs.size() >= plan.seeds;
  if (!plan.done) return plan;
  plan.ratio = mean_ratio(pairs.first(plan.seeds), how);
  plan.narrow =
      plan.ratio->interval.high <= plan.ratio->value * (1 + precision.relative_half_width) * (1 + 1e-12);
  return plan;
}

}  // namespace psim::statistics

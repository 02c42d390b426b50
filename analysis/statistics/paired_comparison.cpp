#include "analysis/statistics/paired_comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/base/random.hpp"

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

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Point {
  double mean = 0;
  double sd = 0;
};

Point point_of(std::span<const double> values) { return {mean_of(values), sd_of(values).value_or(0)}; }

// The standard deviation of the normal noise that is added to each value of a resample: the best width for a
// density estimate of normal values (Silverman, Density estimation for statistics and data analysis, 1986,
// equation 3.28). Without it a resample of five values often repeats one of them, and its standard deviation
// is far too small.
double noise_of(const Point& sample, std::size_t size) {
  return 1.06 * sample.sd * std::pow(static_cast<double>(size), -0.2);
}

// Standard normal noise in equally likely steps: the quantiles at (i + 1/2) / 4096. For millions of draws, a
// table is ten times as fast as a logarithm and a cosine per draw.
using Steps = std::array<double, 4096>;
const Steps& normal_steps() {
  static const Steps steps = [] {
    Steps table{};
    for (std::size_t i = 0; i < table.size() / 2; ++i) {
      const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(table.size());
      double low = -8, high = 0;
      for (int halving = 0; halving < 60; ++halving) {
        const double middle = (low + high) / 2;
        (std::erfc(-middle / std::numbers::sqrt2) / 2 < p ? low : high) = middle;
      }
      table[i] = low;
      table[table.size() - 1 - i] = -low;
    }
    return table;
  }();
  return steps;
}

// The half width of the interval in standard deviations: a quantile, over resamples, of the distance between
// the mean of the resample and the mean of the sample, in standard deviations of the resample. A draw is one
// word: its upper half selects a value, its last 12 bits select the noise.
double reach(const std::vector<double>& values, const Point& sample, const Resampling& how) {
  const std::size_t resamples = how.resamples > 0 ? how.resamples : resamples_for(values.size());
  const double share = how.confidence;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(resamples + 1)));
  if (rank == 0 || rank > resamples) throw std::invalid_argument("so high a confidence needs more resamples");
  const double noise = noise_of(sample, values.size()), n = static_cast<double>(values.size());
  std::vector<double> centred;
  for (const double value : values) centred.push_back(value - sample.mean);
  const Steps& steps = normal_steps();
  Stream stream(how.seed, "bootstrap");
  std::vector<double> distances(resamples);
  for (double& distance : distances) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t word = stream.next();
      const double value = centred[((word >> 32U) * values.size()) >> 32U] + noise * steps[word & 4095U];
      sum += value;
      squares += value * value;
    }
    distance = std::abs(sum / n) / std::sqrt(std::max(0.0, squares - sum * sum / n) / (n - 1));
  }
  std::ranges::nth_element(distances, distances.begin() + static_cast<std::ptrdiff_t>(rank - 1));
  return distances[rank - 1];
}

// One value per seed. `size`: the magnitude of the numbers that it was computed from; a spread of 1e-12 of it
// is rounding.
struct Values {
  std::vector<double> each;
  double size = 0;
};

// Sorts the values and flips signs so that their mean is positive: then neither the order of seeds nor the
// choice of the baseline matters. A mean of 0 up to rounding has no sign.
Estimate estimate(Values values, const Resampling& how) {
  std::ranges::sort(values.each);
  const double mean = point_of(values.each).mean;
  if (mean < -1e-12 * values.size) {
    std::ranges::reverse(values.each);
    for (double& value : values.each) value = -value;
  }
  const Point sample = point_of(values.each);
  double half = unbounded;
  if (values.each.size() > 1)
    half = sample.sd > 1e-12 * values.size ? reach(values.each, sample, how) * sample.sd : 0;
  return {mean, {mean - half, mean + half}};
}

void require_finite(std::span<const Pair> pairs) {
  if (pairs.empty()) throw std::invalid_argument("an interval needs at least one pair");
  for (const Pair& pair : pairs) {
    if (!std::isfinite(pair.arm) || !std::isfinite(pair.baseline))
      throw std::invalid_argument("an interval needs finite values");
  }
}

}  // namespace

std::size_t resamples_for(std::size_t values) {
  constexpr std::size_t draws = 8'000'000, fewest = 100'000, most = 1'000'000;
  return std::clamp(draws / std::max<std::size_t>(values, 1), fewest, most);
}

Estimate mean_difference(std::span<const Pair> pairs, const Resampling& how) {
  require_finite(pairs);
  Values values;
  for (const Pair& pair : pairs) {
    values.each.push_back(pair.arm - pair.baseline);
    values.size = std::max({values.size, std::abs(pair.arm), std::abs(pair.baseline)});
  }
  return estimate(std::move(values), how);
}

std::optional<Estimate> mean_ratio(std::span<const Pair> pairs, const Resampling& how) {
  require_finite(pairs);
  const auto positive = [](const Pair& pair) { return pair.arm > 0 && pair.baseline > 0; };
  if (!std::ranges::all_of(pairs, positive)) return std::nullopt;
  Values logs{.each = {}, .size = 1};
  for (const Pair& pair : pairs) logs.each.push_back(std::log(pair.arm) - std::log(pair.baseline));
  const Estimate log = estimate(std::move(logs), how);
  return Estimate{std::exp(log.value), {std::exp(log.interval.low), std::exp(log.interval.high)}};
}

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

#include "analysis/statistics/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/mutant.hpp"
#include "model/random.hpp"

namespace psim::statistics {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

// An estimate and its standard error. That of a ratio is the logarithm of it (the delta method). An error
// that is a rounding of the values is 0.
struct Point {
  double value = 0;
  double error = 0;
};

double without_rounding(double error, double size) { return error > 1e-12 * size ? error : 0; }

Point difference_of(std::span<const Pair> pairs) {
  const auto n = static_cast<double>(pairs.size());
  double sum = 0, squares = 0, size = 0;
  for (const Pair& pair : pairs) {
    sum += pair.arm - pair.baseline;
    size = std::max({size, std::abs(pair.arm), std::abs(pair.baseline)});
  }
  const double mean = sum / n;
  for (const Pair& pair : pairs) squares += std::pow(pair.arm - pair.baseline - mean, 2);
  return {mean, without_rounding(std::sqrt(squares / (n - 1) / n), size)};
}

Point log_ratio_of(std::span<const Pair> pairs) {
  const auto n = static_cast<double>(pairs.size());
  double arm = 0, baseline = 0, squares = 0;
  for (const Pair& pair : pairs) {
    arm += pair.arm;
    baseline += pair.baseline;
  }
  for (const Pair& pair : pairs)
    squares += std::pow(pair.arm / (arm / n) - pair.baseline / (baseline / n), 2);
  return {std::log(arm / baseline), without_rounding(std::sqrt(squares / (n - 1) / n), 1)};
}

// In an order of their own, so that the order in which they are given does not matter.
std::vector<Pair> in_own_order(std::span<const Pair> pairs) {
  std::vector<Pair> result(pairs.begin(), pairs.end());
  if (result.empty()) throw std::invalid_argument("an interval needs at least one pair");
  for (const Pair& pair : pairs) {
    if (!std::isfinite(pair.arm) || !std::isfinite(pair.baseline))
      throw std::invalid_argument("an interval needs finite values");
  }
  if (mutant("pairs-are-torn")) {
    for (std::size_t i = 0; i < pairs.size(); ++i)
      result[i].baseline = pairs[(i + 1) % pairs.size()].baseline;
  }
  std::ranges::sort(result, [](const Pair& a, const Pair& b) {
    return std::pair(a.arm, a.baseline) < std::pair(b.arm, b.baseline);
  });
  return result;
}

// How many standard errors the interval reaches to each side: the quantile of how many of its own errors a
// resample's estimate lies from the sample's. A resample without spread has no error to measure by; it counts
// as infinitely far unless it is where the sample is.
double reach(const std::vector<Pair>& pairs, Point (*estimate)(std::span<const Pair>),
             const Resampling& how) {
  const Point sample = estimate(pairs);
  Stream stream(how.seed, "bootstrap");
  std::vector<double> distances;
  std::vector<Pair> resample(pairs.size());
  for (std::size_t r = 0; r < how.resamples; ++r) {
    for (Pair& pair : resample) pair = pairs[stream.below(pairs.size())];
    const Point point = estimate(resample);
    const double distance = std::abs(point.value - sample.value);
    if (point.error > 0) distances.push_back(distance / point.error);
    else distances.push_back(distance > 1e-9 * sample.error ? unbounded : 0);
  }
  const double share = mutant("tails-are-swapped") ? 1 - how.confidence : how.confidence;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(how.resamples + 1)));
  if (rank == 0 || rank > how.resamples)
    throw std::invalid_argument("so high a confidence needs more resamples");
  std::ranges::nth_element(distances, distances.begin() + static_cast<std::ptrdiff_t>(rank - 1));
  return distances[rank - 1];
}

Estimate estimate(const std::vector<Pair>& pairs, Point (*of)(std::span<const Pair>), const Resampling& how) {
  const Point sample = of(pairs);
  if (pairs.size() < 2) return {sample.value, {-unbounded, unbounded}};
  if (sample.error == 0) return {sample.value, {sample.value, sample.value}};
  const double half = reach(pairs, of, how) * sample.error;
  return {sample.value, {sample.value - half, sample.value + half}};
}

}  // namespace

Estimate mean_difference(std::span<const Pair> pairs, const Resampling& how) {
  return estimate(in_own_order(pairs), difference_of, how);
}

std::optional<Estimate> ratio_of_means(std::span<const Pair> pairs, const Resampling& how) {
  const std::vector<Pair> in_order = in_own_order(pairs);
  const auto positive = [](const Pair& pair) { return pair.arm > 0 && pair.baseline > 0; };
  if (!std::ranges::all_of(in_order, positive)) return std::nullopt;
  const Estimate log = estimate(in_order, log_ratio_of, how);
  return Estimate{std::exp(log.value), {std::exp(log.interval.low), std::exp(log.interval.high)}};
}

}  // namespace psim::statistics

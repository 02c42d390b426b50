#include "tests/coverage/methods.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/statistics/sample.hpp"

namespace psim::test {
namespace {

using statistics::Interval;
using statistics::student_quantile;

double quantile(const std::vector<double>& sorted, double p) {
  const double rank = std::ceil(p * static_cast<double>(sorted.size() + 1));
  return sorted[static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(sorted.size()))) - 1];
}

double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) (below((low + high) / 2) < p ? low : high) = (low + high) / 2;
  return low;
}

Interval student(const Resampled& s) {
  const double half = student_quantile(0.975, s.differences.size() - 1) * s.error;
  return {s.mean - half, s.mean + half};
}

Interval percentile(const Resampled& s) { return {quantile(s.means, 0.025), quantile(s.means, 0.975)}; }

// Hesterberg, What teachers should know about the bootstrap, 2015: levels that are as far out as
// Student's t.
double expanded(const Resampled& s) {
  const auto n = static_cast<double>(s.differences.size());
  return std::sqrt(n / (n - 1)) * student_quantile(0.975, s.differences.size() - 1);
}
Interval expanded_percentile(const Resampled& s) {
  return {quantile(s.means, below(-expanded(s))), quantile(s.means, below(expanded(s)))};
}

// Efron, Better bootstrap confidence intervals, 1987; the acceleration of a mean is its skewness / 6.
Interval bca_with(const Resampled& s, double z) {
  double less = 0, squares = 0, cubes = 0;
  for (const double mean : s.means) less += mean < s.mean ? 1 : mean == s.mean ? 0.5 : 0;
  for (const double d : s.differences) {
    squares += std::pow(d - s.mean, 2);
    cubes += std::pow(d - s.mean, 3);
  }
  const double bias = normal_quantile(std::clamp(less / static_cast<double>(s.means.size()), 1e-6, 1 - 1e-6));
  const double acceleration = squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
  const auto level = [&](double at) { return below(bias + (bias + at) / (1 - acceleration * (bias + at))); };
  return {quantile(s.means, level(-z)), quantile(s.means, level(z))};
}
Interval bca(const Resampled& s) { return bca_with(s, normal_quantile(0.975)); }
Interval expanded_bca(const Resampled& s) { return bca_with(s, expanded(s)); }

Interval two_tails(const Resampled& s) {
  return {s.mean - quantile(s.distances, 0.975) * s.error, s.mean - quantile(s.distances, 0.025) * s.error};
}

Interval symmetric_with(const Resampled& s, const std::vector<double>& distances) {
  std::vector<double> sizes;
  for (const double d : distances) sizes.push_back(std::abs(d));
  std::ranges::sort(sizes);
  const double half = quantile(sizes, 0.95) * s.error;
  return {s.mean - half, s.mean + half};
}
Interval symmetric(const Resampled& s) { return symmetric_with(s, s.distances); }

// Hesterberg, Unbiasing the bootstrap: bootknife sampling vs. smoothing, 2004: as much noise as makes the
// variance of a resample's values that of the sample.
Interval unbiased(const Resampled& s) { return symmetric_with(s, s.smooth_distances); }

Interval taken(const Resampled& s) { return s.taken; }

}  // namespace

const Method all_methods[9] = {{"Student", student},
                               {"percentile", percentile},
                               {"expanded", expanded_percentile},
                               {"BCa", bca},
                               {"expanded BCa", expanded_bca},
                               {"studentised", two_tails},
                               {"symmetric", symmetric},
                               {"unbiased", unbiased},
                               {"taken", taken}};

Resampled::Resampled(const std::vector<Pair>& pairs, std::uint64_t seed, std::size_t resamples)
    : taken(statistics::mean_difference(pairs, {.seed = seed, .resamples = resamples}).interval) {
  for (const Pair& pair : pairs) differences.push_back(pair.arm - pair.baseline);
  const double root = std::sqrt(static_cast<double>(pairs.size()));
  mean = statistics::mean_of(differences);
  error = *statistics::sd_of(differences) / root;
  Stream stream(seed, "bootstrap");
  std::vector<double> resample(pairs.size());
  for (std::size_t r = 0; r < resamples; ++r) {
    for (double& d : resample) d = differences[stream.below(pairs.size())];
    const double its_mean = statistics::mean_of(resample), its_error = *statistics::sd_of(resample) / root;
    means.push_back(its_mean);
    distances.push_back(its_error > 1e-9 * error
                            ? (its_mean - mean) / its_error
                            : std::copysign(std::numeric_limits<double>::infinity(), its_mean - mean));
    for (double& d : resample) d += error * stream.normal();
    smooth_distances.push_back((statistics::mean_of(resample) - mean) /
                               (*statistics::sd_of(resample) / root));
  }
  std::ranges::sort(means);
  std::ranges::sort(distances);
}

statistics::Interval student_log_ratio(std::span<const Pair> pairs) {
  std::vector<double> logs;
  for (const Pair& pair : pairs) logs.push_back(std::log(pair.arm / pair.baseline));
  return *statistics::student_interval(logs);
}

}  // namespace psim::test

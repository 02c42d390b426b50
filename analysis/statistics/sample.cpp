#include "analysis/statistics/sample.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "model/base/random.hpp"

namespace psim::statistics {

double mean_of(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("a mean needs at least one value");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> sd_of(std::span<const double> values) {
  const double mean = mean_of(values);
  if (values.size() < 2) return std::nullopt;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double quantile(std::vector<double> values, double share, Between between) {
  if (values.empty() || !(share >= 0 && share <= 1))
    throw std::invalid_argument("a quantile needs at least one value and a share from 0 to 1");
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, below);
  if (between == Between::lower || below + 1 == values.end()) return *below;
  const double above = *std::ranges::min_element(below + 1, values.end());
  return *below + (place - std::floor(place)) * (above - *below);
}

double student_quantile(double p, std::size_t degrees) {
  if (!(p > 0 && p < 1) || degrees == 0)
    throw std::invalid_argument("a quantile of Student's t needs p between 0 and 1 and a degree of freedom");
  return boost::math::quantile(boost::math::students_t(static_cast<double>(degrees)), p);
}

namespace {

// mean +- t * error, where `error_of` gives the standard error for a standard deviation and n values.
template <class ErrorOf>
std::optional<Interval> around_mean(std::span<const double> values, const ErrorOf& error_of) {
  const std::optional<double> sd = sd_of(values);
  if (!sd) return std::nullopt;
  const double half =
      student_quantile(0.975, values.size() - 1) * error_of(*sd, static_cast<double>(values.size()));
  return Interval{mean_of(values) - half, mean_of(values) + half};
}

}  // namespace

std::optional<Interval> student_interval(std::span<const double> values) {
  return around_mean(values, [](double sd, double n) { return sd / std::sqrt(n); });
}

std::optional<Interval> prediction_interval(std::span<const double> values) {
  return around_mean(values, [](double sd, double n) { return sd * std::sqrt(1 + 1 / n); });
}

namespace {

// Sums the sizes of the differences with signs: bit i of the word i / 64 makes the i-th size negative.
template <class Words>
double signed_sum(const std::vector<double>& sizes, Words word) {
  double sum = 0;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i % 64 == 0) bits = word();
    sum += (bits >> (i % 64) & 1U) != 0 ? -sizes[i] : sizes[i];
  }
  return sum;
}

}  // namespace

SignFlip sign_flip(std::span<const double> differences, std::uint64_t seed, std::size_t draws) {
  if (differences.empty()) throw std::invalid_argument("a test needs at least one difference");
  const double sum = std::accumulate(differences.begin(), differences.end(), 0.0);
  // Random signs make a difference and its opposite equivalent. With sorted sizes neither the order of seeds
  // nor the choice of the baseline matters.
  std::vector<double> sizes;
  for (const double d : differences) sizes.push_back(std::abs(d));
  std::ranges::sort(sizes);
  // Equal sums may differ by rounding.
  const double observed = std::abs(sum) - 1e-12 * std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const auto far = [&](double other) { return std::abs(other) >= observed; };
  std::size_t hits = 0;
  if (sizes.size() <= most_exact_flips) {
    const std::uint64_t ways = std::uint64_t{1} << sizes.size();
    for (std::uint64_t bits = 0; bits < ways; ++bits) hits += far(signed_sum(sizes, [&] { return bits; }));
    return {.p = static_cast<double>(hits) / static_cast<double>(ways), .exact = true};
  }
  Stream stream(seed, "sign flips");
  for (std::size_t i = 0; i < draws; ++i) hits += far(signed_sum(sizes, [&] { return stream.next(); }));
  const std::size_t itself = 1;
  return {.p = static_cast<double>(hits + itself) / static_cast<double>(draws + itself), .exact = false};
}

double mcnemar(const Discordant& runs) {
  const std::size_t all = runs.arm + runs.baseline, fewer = std::min(runs.arm, runs.baseline);
  if (all > 10'000) throw std::invalid_argument("McNemar's test takes at most 10,000 runs");
  if (2 * fewer == all) return 1;
  const boost::math::binomial chance(static_cast<double>(all), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(chance, static_cast<double>(fewer)));
}

std::size_t seeds_for_holm(std::size_t tests, double level) {
  std::size_t seeds = 1;
  for (double least = 1; static_cast<double>(tests) * least > level; least /= 2) ++seeds;
  return seeds;
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double own = std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]);
    largest = std::max(largest, own);
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

double probability_of_better(std::span<const double> arm, std::span<const double> baseline, Better better) {
  if (arm.empty() || baseline.empty())
    throw std::invalid_argument("a share of pairs needs values of both arms");
  double sum = 0;
  for (const double x : arm) {
    for (const double y : baseline) {
      if (x == y) sum += 0.5;
      else sum += (better == Better::smaller) == (x < y);
    }
  }
  return sum / (static_cast<double>(arm.size()) * static_cast<double>(baseline.size()));
}

namespace {

// The last value at or before a time. The curve must have begun by then.
double curve_at(const Curve& curve, double time_s) {
  const auto next = std::ranges::upper_bound(curve, time_s, {}, &CurvePoint::time_s);
  return (next - 1)->value;
}

}  // namespace

std::optional<Overlap> overlap_of(std::span<const Curve> curves) {
  std::optional<Overlap> overlap;
  for (const Curve& curve : curves) {
    if (curve.empty() || !std::ranges::is_sorted(curve, {}, &CurvePoint::time_s))
      throw std::invalid_argument("a band needs curves with points in order of time");
    const double begin = curve.front().time_s, end = curve.back().time_s;
    if (!overlap) overlap = {begin, end};
    overlap->begin_s = std::max(overlap->begin_s, begin);
    overlap->end_s = std::min(overlap->end_s, end);
  }
  if (overlap && overlap->begin_s > overlap->end_s) return std::nullopt;
  return overlap;
}

std::vector<BandPoint> mean_band(std::span<const Curve> curves, std::size_t points) {
  if (points < 2) throw std::invalid_argument("a band needs at least two points");
  std::vector<BandPoint> band;
  const std::optional<Overlap> overlap = overlap_of(curves);
  if (!overlap) return band;
  for (std::size_t i = 0; i < points; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(points - 1);
    const double time =
        i + 1 == points ? overlap->end_s : overlap->begin_s + part * (overlap->end_s - overlap->begin_s);
    std::vector<double> values;
    for (const Curve& curve : curves) values.push_back(curve_at(curve, time));
    std::ranges::sort(values);
    band.push_back({time, mean_of(values), sd_of(values), student_interval(values)});
  }
  return band;
}

}  // namespace psim::statistics

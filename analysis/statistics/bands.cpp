#include "analysis/statistics/bands.hpp"

#include <algorithm>
#include <stdexcept>

namespace psim::statistics {
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

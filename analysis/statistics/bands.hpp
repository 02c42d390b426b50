// Combines the curves of several seeds: their mean and spread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analysis/statistics/sample.hpp"

namespace psim::statistics {

struct CurvePoint {
  double time_s = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;  // by time; a value holds until the next point

struct BandPoint {
  double time_s = 0;
  double mean = 0;
  std::optional<double> sd;  // by n - 1; absent for a single curve
  std::optional<Interval>
      interval;  // Student's 95 % interval for the mean at this single time; absent for a single curve
};

// The time from the latest beginning to the earliest end of the curves. After an end the mean would cover
// only the remaining runs, which are the slow ones.
struct Overlap {
  double begin_s = 0;
  double end_s = 0;
};
std::optional<Overlap> overlap_of(std::span<const Curve> curves);  // absent if they do not overlap

// `points` times at equal distances over the overlap, both ends included; empty without overlap. Throws
// std::invalid_argument for curves that are empty or not in order of time, and for fewer than two points.
std::vector<BandPoint> mean_band(std::span<const Curve> curves, std::size_t points = 200);

}  // namespace psim::statistics

// Curves of several seeds as one: their mean and how far they scatter.
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
using Curve = std::vector<CurvePoint>;  // by time; a value holds until the next one

struct BandPoint {
  double time_s = 0;
  double mean = 0;
  std::optional<double> sd;  // by n - 1; absent for a single curve
  std::optional<Interval>
      interval;  // Student's 95 % for the mean at this time alone; absent for a single curve
};

// The times from the latest beginning to the earliest end of the curves. Beyond an end the mean would be one
// over the runs that are left, which are those that were slow to reach their target.
struct Overlap {
  double begin_s = 0;
  double end_s = 0;
};
std::optional<Overlap> overlap_of(std::span<const Curve> curves);  // absent where they do not overlap

// `points` times at equal distances over the overlap, both ends included; none where there is none. The
// value of a curve at a time is the last one it had. Throws std::invalid_argument for curves that are empty
// or not in order of time, and for fewer than two points.
std::vector<BandPoint> mean_band(std::span<const Curve> curves, std::size_t points = 200);

}  // namespace psim::statistics

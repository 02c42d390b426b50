// Other intervals for the mean of differences, which the library does not have: to compare their coverage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/coverage/shapes.hpp"

namespace psim::test {

// A study's differences, and what its resamples make of them, in ascending order.
struct Resampled {
  Resampled(const std::vector<Pair>& pairs, std::uint64_t seed, std::size_t resamples);
  std::vector<double> differences;
  double mean = 0, error = 0;
  std::vector<double> means;
  std::vector<double> distances;         // from `mean`, in errors of the resample
  std::vector<double> smooth_distances;  // the same, with noise of sd / sqrt(n)
  statistics::Interval taken;            // what the library says
};

struct Method {
  std::string_view name;
  statistics::Interval (*interval)(const Resampled& study);
};
extern const Method all_methods[9];

// Student's interval of the mean logarithm of the seeds' ratios.
statistics::Interval student_log_ratio(std::span<const Pair> pairs);

}  // namespace psim::test

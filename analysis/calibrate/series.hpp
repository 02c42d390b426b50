// Properties of a series of step times: how long it remembers, and how well its mean is known.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/statistics/sample.hpp"

namespace psim::calibrate {

// Autocorrelation of a series at lags 0 to `lags`; 0 for a constant series.
std::vector<double> autocorrelation(std::span<const double> series, std::size_t lags);

// The number of steps over which a series remembers: 1 + 2 * (sum of its autocorrelations until the first
// that chance explains), at least 1. Chance: 2 / sqrt(n).
double memory_of(std::span<const double> series);

// Length of the blocks of a block bootstrap of the series' mean (Politis, White 2004, for circular blocks,
// with the correction of Patton, Politis, White 2009), in steps; at least 1.
double best_block(std::span<const double> series);

// The means of equal parts of a series, one after the other; at most as many parts as values.
std::vector<double> means_of_parts(std::span<const double> series, std::size_t parts);

// The mean of a series whose values depend on the values before them.
struct Mean {
  double value = 0;
  double error = 0;    // standard error
  double freedom = 1;  // degrees of freedom of the error, a whole number
};
// The error is that of the slowest waves of the series, which a cosine transform finds: 0.4 n^(2/3) of them
// (Lazarus, Lewis, Stock, Watson 2018), fewer in a series that remembers long, and at least 3.
Mean mean_with_error(std::span<const double> series);
// 95 %, by Student's t.
statistics::Interval interval_of(const Mean& mean);
// The means of two series with the same true mean differ by more with this probability only.
double chance_difference(const Mean& one, const Mean& other, double probability);

}  // namespace psim::calibrate

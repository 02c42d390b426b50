// What an inference group answered, over time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/record/result.hpp"

namespace psim {

// Requests that came in one window of time, and what became of them, whenever that was.
struct ServingWindow {
  double begin = 0, end = 0;  // dates
  std::int64_t requests = 0, answered = 0;
  // Of those that were answered: sums and maxima.
  double latency_sum = 0, latency_max = 0;  // seconds
  double staleness_sum = 0;
  std::int64_t staleness_max = 0;   // versions
  double age_sum = 0, age_max = 0;  // seconds

  void add(const InferenceStats::Answered& answer);
  // Of all that were answered; none without any.
  std::optional<double> mean(double sum) const {
    return answered > 0 ? std::optional(sum / static_cast<double>(answered)) : std::nullopt;
  }
};

// The whole run as one window.
ServingWindow served_in_all(const InferenceStats& stats, double end);
// The run in windows of this length, twice it, four times, ..., of which there are at most 10000. Without a
// length: at most 50 of 1, 2 or 5 times a power of ten seconds.
std::vector<ServingWindow> served_over_time(const InferenceStats& stats, std::optional<double> length,
                                            double end);

}  // namespace psim

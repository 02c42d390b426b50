// The answers of an inference group over time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/record/result.hpp"

namespace psim {

// The requests that came in one window of time, and their answers, even if these came later.
struct ServingWindow {
  double begin = 0, end = 0;  // dates
  std::int64_t requests = 0, answered = 0;
  // Sums and maxima over the answered requests.
  double latency_sum = 0, latency_max = 0;  // seconds
  double staleness_sum = 0;
  std::int64_t staleness_max = 0;   // versions
  double age_sum = 0, age_max = 0;  // seconds

  void add(const InferenceStats::Answered& answer);
  // The mean over the answered requests; none without answers.
  std::optional<double> mean(double sum) const {
    return answered > 0 ? std::optional(sum / static_cast<double>(answered)) : std::nullopt;
  }
};

// The whole run as one window.
ServingWindow served_in_all(const InferenceStats& stats, double end);
// Divides the run into windows. Their length is `length`, doubled until there are at most 10000. Without
// `length`: 1, 2 or 5 times a power of ten seconds, so that there are at most 50.
std::vector<ServingWindow> served_over_time(const InferenceStats& stats, std::optional<double> length,
                                            double end);

}  // namespace psim

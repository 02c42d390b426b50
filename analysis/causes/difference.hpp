// Compares two runs: the first event that differs, and the parts of the critical path that explain the
// difference in time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/causes/explain.hpp"

namespace psim::analysis {

// A part of the critical paths that became longer or shorter. All these differences add up to the difference
// of the times.
struct ShareChange {
  std::string node;
  Kind kind = Kind::idle;
  std::array<double, 2> seconds = {};  // in the first run, in the second
  double difference() const { return seconds[1] - seconds[0]; }
};

struct Difference {
  std::array<std::string, 2> names;  // of the runs, as the user called them
  std::array<Explanation, 2> runs;
  std::vector<ShareChange> changes;  // largest first
  // The first event of each run that differs from the other run at the same place; none: one run is a prefix
  // of the other.
  struct Parting {
    double at = 0;
    std::array<std::string, 2> events;
  };
  std::optional<Parting> parting;
  std::vector<std::string> sentences, cautions;
  double seconds() const { return runs[1].total - runs[0].total; }
};

// Throws Unverifiable.
Difference difference_of(const std::array<RunRecord, 2>& records, const std::array<std::string, 2>& names,
                         Until until);

std::string text(const Difference& difference, std::size_t width);
// "psim.why-difference/1"
Json document(const Difference& difference, const std::array<RunRecord, 2>& records);

}  // namespace psim::analysis

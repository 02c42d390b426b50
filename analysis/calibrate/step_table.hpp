// A table of steps: worker, step, compute_s and other durations, in columns of any order.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibrate/lines.hpp"
#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

// A column of durations: its meaning and its unit, from a name such as `compute_ms`.
struct TimeColumn {
  double LoggedStep::*part = nullptr;
  double scale = 1;
};

class StepTable {
 public:
  // Whether the header is that of a table of steps.
  static bool is(const Cells& header);

  // Throws LogError for a header without computations, or with two columns for one thing.
  StepTable(const std::string& path, const Cells& header, ClusterLog& log);

  // Adds the step of a line. Throws LogError for a wrong value.
  void take(const Cells& cells, const std::string& place);

 private:
  ClusterLog& log_;
  std::size_t worker_, step_, width_;
  std::vector<std::pair<std::size_t, TimeColumn>> times_;
};

}  // namespace psim::calibrate

// A table of steps: worker, step, compute_s or step_s, and other durations, in columns of any order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibrate/lines.hpp"
#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

// A column of durations: its meaning and its unit, from a name such as `compute_ms`. Without a part it is the
// time of the whole step.
struct TimeColumn {
  double LoggedStep::*part = nullptr;
  double scale = 1;
};

class StepTable {
 public:
  // Whether the header is that of a table of steps. Without workers, it is one that has whole steps.
  static bool is(const Cells& header);

  // Throws LogError for a header without computations, or with two columns for one thing.
  // `number`: the worker of a table without workers.
  StepTable(const std::string& path, std::int64_t number, const Cells& header, ClusterLog& log);

  // Adds the step of a line. Throws LogError for a wrong value.
  void take(const Cells& cells, const std::string& place);

 private:
  ClusterLog& log_;
  std::optional<std::size_t> worker_;
  std::int64_t number_;
  std::size_t step_, width_;
  bool has_compute_ = false;
  std::vector<std::pair<std::size_t, TimeColumn>> times_;
};

}  // namespace psim::calibrate

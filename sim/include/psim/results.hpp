// The results of a run. docs/results.md says how each number is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace psim::api {

// An evaluation of the weights.
struct CurvePoint {
  double sim_time_s = 0;     // simulated seconds
  std::int64_t updates = 0;  // versions of the weights so far
  double epoch = 0;          // gradients computed, in passes over the training set
  double loss = 0;  // mean over the validation set, or else the test set; NaN: it is infinite or no number
  std::optional<double> accuracy = {};  // 0 to 1; classification only
};

struct Result {
  std::string digest;             // 32 hexadecimal digits: one number for everything that happened
  double sim_time_s = 0;          // simulated seconds from the run's beginning to its end
  std::int64_t updates = 0;       // versions of the weights that all servers have reached
  std::vector<CurvePoint> curve;  // from the first weights to the last; empty for a phantom model
  std::optional<double> time_to_target_s = {};  // none: there is no target, or it was missed
  std::vector<std::string> stuck;               // if nothing could happen any more: who waited for what
  std::string summary;  // summary.json, as one line: all that `psim run --json` prints
};

// Throws std::invalid_argument if `summary` is not a summary.json of psim.
Result result_in(const std::string& summary);

}  // namespace psim::api

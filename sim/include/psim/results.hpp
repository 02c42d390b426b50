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
  double loss = 0;  // mean over the validation set, or else the test set; NaN: infinite or not a number
  std::optional<double> accuracy = {};  // 0 to 1; classification only
};

struct Result {
  std::string digest;             // 32 hexadecimal digits: a hash of everything that happened
  double sim_time_s = 0;          // simulated seconds from the start of the run to its end
  std::int64_t updates = 0;       // updates that all servers have made
  std::vector<CurvePoint> curve;  // from the first weights to the last; empty for a phantom model
  std::optional<double> time_to_target_s = {};  // none: the run has no target, or missed it
  std::vector<std::string> stuck;               // why the run stopped early: which node waited for what
  std::string summary;                          // summary.json in one line, as `psim run --json` prints it
};

// Throws std::invalid_argument if `summary` is not a summary.json of psim.
Result result_in(const std::string& summary);

}  // namespace psim::api

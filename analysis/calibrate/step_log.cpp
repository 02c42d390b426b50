#include "analysis/calibrate/step_log.hpp"

#include <cmath>
#include <limits>

namespace psim::calibrate {

const double LoggedStep::unknown = std::numeric_limits<double>::quiet_NaN();

void StepLog::add(std::int64_t worker, std::int64_t step, const LoggedStep& durations) {
  const auto is_impossible = [](double seconds) { return seconds < 0 || std::isinf(seconds); };
  if (!(durations.compute >= 0) || std::isinf(durations.compute) || is_impossible(durations.push) ||
      is_impossible(durations.pull) || is_impossible(durations.server) || is_impossible(durations.bytes)) {
    ++counts_.negative;
  } else if (durations.compute == 0) {
    ++counts_.zero;
  } else if (counts_.steps == most_steps) {
    ++counts_.beyond;
  } else if (workers_[worker].emplace(step, durations).second) {
    ++counts_.steps;
  } else {
    ++counts_.repeated;
  }
}

}  // namespace psim::calibrate

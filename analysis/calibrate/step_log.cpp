#include "analysis/calibrate/step_log.hpp"

#include <cmath>
#include <limits>

namespace psim::calibrate {

const double LoggedStep::unknown = std::numeric_limits<double>::quiet_NaN();

void StepLog::add(std::int64_t worker, std::int64_t step, const LoggedStep& durations) {
  constexpr double most_seconds = 1e9, most_bytes = 1e18;
  const auto is_impossible = [](double seconds) { return seconds < 0 || seconds > most_seconds; };
  if (std::isnan(durations.compute) || is_impossible(durations.compute) || is_impossible(durations.push) ||
      is_impossible(durations.pull) || is_impossible(durations.server) || durations.bytes < 0 ||
      durations.bytes > most_bytes) {
    ++counts_.impossible;
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

#include "analysis/calibrate/server_work.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/calibrate/series.hpp"

namespace psim::calibrate {

std::optional<ServerWork> server_work(const StepLog& log) {
  std::vector<double> seconds;
  for (const auto& [worker, steps] : log.workers()) {
    for (const auto& [step, one] : steps)
      if (std::isfinite(one.server)) seconds.push_back(one.server);
  }
  if (seconds.empty()) return {};
  const double mean = statistics::mean_of(seconds);
  ServerWork work{.seconds = mean, .interval = {mean, mean}, .pushes = seconds.size()};
  // Neighbouring steps are alike, so the interval is that of the means of parts.
  if (const auto interval = statistics::student_interval(means_of_parts(seconds, 20)))
    work.interval = {std::max(interval->low, 0.0), interval->high};
  return work;
}

}  // namespace psim::calibrate

#include "analysis/calibrate/server_work.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

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
  const std::size_t parts = std::min<std::size_t>(20, seconds.size());
  std::vector<double> means;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = seconds.size() * part / parts, end = seconds.size() * (part + 1) / parts;
    means.push_back(statistics::mean_of(std::span(seconds).subspan(begin, end - begin)));
  }
  if (const auto interval = statistics::student_interval(means))
    work.interval = {std::max(interval->low, 0.0), interval->high};
  return work;
}

}  // namespace psim::calibrate

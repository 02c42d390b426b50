// How long a server works on what workers push.
#pragma once

#include <cstddef>
#include <optional>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/statistics/sample.hpp"

namespace psim::calibrate {

// A server's time for a push, in seconds: the mean over all steps of all workers.
struct ServerWork {
  double seconds = 0;
  statistics::Interval interval = {};  // 95 %, from the means of the workers' steps
  std::size_t pushes = 0;
};

// Nothing: the log has no such times.
std::optional<ServerWork> server_work(const StepLog& log);

}  // namespace psim::calibrate

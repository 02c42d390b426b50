// The scheduler's process: receives messages, waits for dates, and lets one of the schedulers of
// sim/protocol/scheduler decide. It starts everybody when everybody is up, and ends the run when all workers
// have left.
#pragma once

#include <vector>

#include "sim/nodes/job_context.hpp"

namespace psim {

// The actor's body. `jobs`: all of the run.
void run_scheduler(const std::vector<JobContext*>& jobs);

}  // namespace psim

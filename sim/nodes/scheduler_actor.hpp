// The scheduler's process. It receives messages, waits for dates, and leaves the decisions to one of the
// schedulers of sim/protocol/scheduler. It starts all nodes when all are up, and ends the run when all
// workers have left.
#pragma once

#include <vector>

#include "sim/nodes/job_context.hpp"

namespace psim {

// The actor's body. `jobs`: all jobs of the run.
void run_scheduler(const std::vector<JobContext*>& jobs);

}  // namespace psim

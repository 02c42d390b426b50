// The scheduler: starts everybody when everybody is up, shares out work, and ends the run when all workers
// have left. Where nodes may fail it watches who is there as well (failure_aware_scheduler.hpp).
#pragma once

#include <vector>

#include "sim/nodes/job_context.hpp"

namespace psim {

// The actor's body. `jobs`: all of the run.
void run_scheduler(const std::vector<JobContext*>& jobs);

}  // namespace psim

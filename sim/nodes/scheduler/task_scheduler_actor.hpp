// The part of the scheduler's process that gives out a scenario's tasks
// (sim/protocol/scheduler/task_scheduler). Returns when all tasks are done and all workers know this.
#pragma once

#include "sim/nodes/job/job_context.hpp"

namespace psim {

void run_tasks(JobContext& job);

}  // namespace psim

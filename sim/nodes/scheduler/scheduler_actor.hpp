// The scheduler's process. It receives messages, waits for dates, and leaves the decisions to one of the
// schedulers of sim/protocol/scheduler. It starts all nodes when all are up, and ends the run when all
// workers have left.
#pragma once

#include <vector>

#include "sim/nodes/job/job_context.hpp"
#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"

namespace psim {

// The options of the schedulers, made from the plans of a run's jobs. `jobs`: all jobs of the run.
std::vector<ScheduledJob> scheduled(const std::vector<JobContext*>& jobs);
FailureAwareScheduler::Options failure_aware(const std::vector<JobContext*>& jobs);

// The actor's body. `jobs`: all jobs of the run.
void run_scheduler(const std::vector<JobContext*>& jobs);

// The part of the scheduler's process that gives out a scenario's tasks
// (sim/protocol/scheduler/task_scheduler). Returns when all tasks are done and all workers know this.
void run_tasks(JobContext& job);

}  // namespace psim

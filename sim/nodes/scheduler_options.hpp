// The options of the schedulers, made from the plans of a run's jobs. `jobs`: all jobs of the run.
#pragma once

#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"

namespace psim {

std::vector<ScheduledJob> scheduled(const std::vector<JobContext*>& jobs);
FailureAwareScheduler::Options failure_aware(const std::vector<JobContext*>& jobs);

}  // namespace psim

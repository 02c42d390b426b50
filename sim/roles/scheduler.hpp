// The scheduler: starts everybody when everybody is up, shares out work, watches who is there where nodes may
// fail, and ends the run when all workers have left.
#pragma once

#include <vector>

#include "sim/roles/job_context.hpp"

namespace psim {

// The actor's body. `jobs`: all namespaces.
void run_scheduler(const std::vector<JobContext*>& jobs);

// A server's or worker's first words; returns the scheduler's, which may hold the view.
// `others` gets what comes in before that.
Start join(JobContext& job, NodeId node, const std::function<void(Message)>& others = {});
// A node's answer to a scheduler that has come back and asks which view it knows.
void tell_view(JobContext& job, NodeId node, const SharedView& view);
// A worker's last words; it is gone when the scheduler has them.
void leave(JobContext& job, NodeId node);

}  // namespace psim

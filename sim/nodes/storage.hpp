// The storage node: keeps the last snapshot of every shard, written and read at its disk's speed. What is on
// the disk outlives a crash.
#pragma once

#include "sim/nodes/job_context.hpp"

namespace psim {

// The actor's body; never returns.
void run_storage(JobContext& job);

}  // namespace psim

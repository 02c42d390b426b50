// The storage node keeps the last snapshot of every shard. It writes and reads at its disk's speed. The
// contents of the disk survive a crash.
#pragma once

#include "sim/nodes/job_context.hpp"

namespace psim {

// The actor's body; never returns.
void run_storage(JobContext& job);

}  // namespace psim

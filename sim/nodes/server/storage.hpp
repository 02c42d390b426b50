// Nodes that keep something for others.
#pragma once

#include "sim/nodes/job/job_context.hpp"

namespace psim {

// A storage node that holds the training set and sends workers the samples that they request. It has no
// memory of requests, so a crash loses only the messages on their way. It does not answer a repeated request
// while the first answer is on its way. Never returns.
void run_database(JobContext& job);

// The storage node keeps the last snapshot of every shard. It writes and reads at its disk's speed. The
// contents of the disk survive a crash. Never returns.
void run_storage(JobContext& job);

}  // namespace psim

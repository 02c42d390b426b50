// A storage node that holds the training set and sends workers the samples that they request. It has no
// memory of requests, so a crash loses only the messages on their way. It does not answer a repeated request
// while the first answer is on its way.
#pragma once

#include "sim/nodes/job_context.hpp"

namespace psim {

// The database's actor; never returns.
void run_database(JobContext& job);

}  // namespace psim

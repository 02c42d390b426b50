// A storage node that holds the training set and sends workers the samples that they ask for. It remembers
// nothing, so a crash loses no more than what is on its way. A question that comes again while its answer
// is on its way is not answered twice.
#pragma once

#include "sim/nodes/job_context.hpp"

namespace psim {

// The database's actor; never returns.
void run_database(JobContext& job);

}  // namespace psim

// A storage node that holds the training set and sends workers the samples that they ask for.
#pragma once

#include "sim/roles/job_context.hpp"

namespace psim {

// The database's actor; never returns.
void run_database(JobContext& job);

}  // namespace psim

// The costs of a worker's step, with servers and without.
#pragma once

#include "sim/nodes/job_context.hpp"

namespace psim {

// Operations for the samples of one step of worker `index` with `local_steps` local steps, without slowness.
// `scale`: the size of its batches, over the scenario's size.
double flops_of_samples(const JobContext& job, std::uint32_t index, std::int64_t local_steps, double scale);
// Seconds of all copies between host and devices in one step with `local_steps` local steps. The copies move
// `values` weights and their gradients.
double all_copies(const JobContext& job, std::size_t values, std::int64_t local_steps);

}  // namespace psim

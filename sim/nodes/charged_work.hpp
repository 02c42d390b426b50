// What a worker's step is charged for, with servers and without.
#pragma once

#include "sim/nodes/job_context.hpp"

namespace psim {

// Operations of the samples of a step of worker `index` that has so many local steps, without slowness.
// `scale`: of its batches, over those that the scenario gives.
double flops_of_samples(const JobContext& job, std::uint32_t index, std::int64_t local_steps, double scale);
// Seconds of all copies of a step of so many local steps between host and devices, of so many weights and of
// their gradients.
double all_copies(const JobContext& job, std::size_t values, std::int64_t local_steps);

}  // namespace psim

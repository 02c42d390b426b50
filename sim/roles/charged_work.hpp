// What a worker's step is charged for, with servers and without.
#pragma once

#include "sim/roles/job_context.hpp"

namespace psim {

// Operations of the samples of a step of worker `index` that has so many local steps, without slowness.
// `scale`: of its batches, over those that the scenario gives.
double flops_of_samples(const JobContext& job, std::uint32_t index, std::int64_t local_steps, double scale);
// Seconds of one copy of so many weights, or of their gradients, between host and devices.
double copy_seconds(const JobContext& job, std::size_t values);

}  // namespace psim

// The time of a clock's computation, and the number of clocks of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Mean seconds of the gradients of a clock of `worker` without slowness, and of its whole computation in a
// clock, including recomputed activations. If a clock has a fixed time, the seconds of one local step.
double mean_gradient_seconds(const Scenario& scenario, std::size_t worker);
double mean_step_seconds(const Scenario& scenario, std::size_t worker);

// Number of batches of a clock in which each worker takes one step: one per worker, or the number that tasks
// compute.
std::int64_t batches_of_workers(const Scenario& scenario);
// Number of steps of `step` seconds that fit in `time` seconds, between 1 and most_local_steps.
constexpr std::int64_t most_local_steps = 1'000'000;
std::int64_t steps_that_fit(double time, double step);
// Local steps of a clock of `worker`. If the clock has a fixed time, at the worker's mean speed.
std::int64_t mean_local_steps(const Scenario& scenario, std::size_t worker);
// Number of batches of a worker in a clock, as the mean over workers; and the additional batches of the first
// clock.
double batches_per_clock(const Scenario& scenario);
double batches_more_at_first(const Scenario& scenario);

// Number of machines with a separate batch and part of the data: the workers, or the one machine of a
// pipeline over devices. And the number of samples of all these batches.
std::int64_t machines_with_data(const Scenario& scenario);
std::int64_t samples_per_step(const Scenario& scenario);

// Clocks of each worker for the scenario's steps, epochs or samples; none if another limit ends the run.
std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples);

}  // namespace psim

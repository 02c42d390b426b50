// How long a clock's computation takes, and how many clocks a run has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Mean time of the gradients of a clock of `worker` in seconds, before any slowness, and of all that it
// computes in a clock, recomputed activations included; where a clock has a time, of one local step.
double mean_gradient_seconds(const Scenario& scenario, std::size_t worker);
double mean_step_seconds(const Scenario& scenario, std::size_t worker);

// Batches of a clock, where each worker takes one step: one each, or as many as tasks compute.
std::int64_t batches_of_workers(const Scenario& scenario);
// Steps of `step` seconds in `time` seconds, at least one and at most so many.
constexpr std::int64_t most_local_steps = 1'000'000;
std::int64_t steps_that_fit(double time, double step);
// Local steps of a clock of `worker`, at its mean speed where the clock has a time and not a number of them.
std::int64_t mean_local_steps(const Scenario& scenario, std::size_t worker);
// Of a worker's batches in a clock, the mean over workers; and how many more the first clock has.
double batches_per_clock(const Scenario& scenario);
double batches_more_at_first(const Scenario& scenario);

// Machines that take a batch each, and have a part of the data each: the workers, or the one machine whose
// devices are the stages of a pipeline. And the samples of all these batches.
std::int64_t machines_with_data(const Scenario& scenario);
std::int64_t samples_per_step(const Scenario& scenario);

// Clocks of each worker that the scenario's steps, epochs or samples make; none when something else ends the
// run.
std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples);

}  // namespace psim

// How long a clock's computation takes, and how many clocks a run has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Mean time of a clock's computation of `worker` in seconds, before any slowness.
double mean_step_seconds(const Scenario& scenario, std::size_t worker);

// Batches of a clock, where each worker takes one step: one each, or as many as tasks compute.
std::int64_t batches_of_workers(const Scenario& scenario);

// Clocks of each worker that the scenario's steps or epochs make; none when something else ends the run.
std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples);

}  // namespace psim

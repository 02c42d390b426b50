// The computation of workers, if a log has only the times of whole steps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/calibrate/step_times.hpp"
#include "sim/calibrate/cluster.hpp"

namespace psim::calibrate {

// The part of each worker's whole steps that is no computation: what a simulation of the steps takes for
// messages, and for waiting that the log does not show.
struct StepRest {
  std::vector<double> seconds;  // by worker
  double error = 0;             // of the mean simulated step, relative: what no computation repairs
};

// Finds it by simulation with `network`. `whole`: the times of the steps, as computations. Simulates the
// steps with computations that are shorter by the rest, until their mean is that of the log. `folder`: for
// steps.csv. Throws like simulated_steps().
StepRest rest_of(const StepTimes& whole, const ClusterFacts& facts, const NetworkValues& network,
                 const std::filesystem::path& folder);

// The steps as computations and the rest. A computation takes at least a hundredth of its step.
StepTimes without_rest(const StepTimes& whole, const StepRest& rest);

// Each step with its mean over workers: where all wait for all, the differences are none of the workers'.
// `columns`: 1, or the number of workers.
StepTimes averaged(const StepTimes& whole, std::size_t columns);

}  // namespace psim::calibrate

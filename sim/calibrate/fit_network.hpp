// Fits what no formula gives: simulates the logged steps with their own computations, and searches for the
// network with which the rest of each step takes as long as in the log. Calibration by simulation follows
// McDonald et al. (IPDPS Workshops 2024); the search is deterministic.
#pragma once

#include <filesystem>
#include <vector>

#include "sim/calibrate/cluster.hpp"

namespace psim::calibrate {

struct NetworkFit {
  NetworkValues values;
  std::vector<Fitted> fitted;  // with intervals, for the report
  double error = 0;            // root mean square of the relative errors of what was compared
  int simulations = 0;
};

// `folder` has the steps as `steps.csv`, for the simulations. `link`: from a link test, or nothing; then
// bandwidth and latency are known. Throws like simulated_steps().
NetworkFit fit_network(const ClusterFacts& facts, const StepTimes& times, const StepFit& fit,
                       const std::optional<LinkFit>& link, const std::filesystem::path& folder);

// The step times as a file that a scenario reads: a header with the names of the workers, and a row for each
// step.
std::string steps_csv(const StepTimes& times);

}  // namespace psim::calibrate

// Fits the network of a cluster: to its logged steps, simulated with their own computations, so that the rest
// of each step takes as long as in the log; or to its runs, simulated one by one.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "analysis/calibrate/run_table.hpp"
#include "sim/calibrate/cluster.hpp"

namespace psim::calibrate {

struct NetworkFit {
  NetworkValues values;
  std::vector<Fitted> fitted;  // with intervals, for the report
  double error = 0;            // root mean square of the relative errors of what was compared
  int simulations = 0;
  std::vector<double> steps = {};  // of fit_runs(): the simulated mean step of each run, in seconds
};

// The network of a link test. A path through one switch has two links.
NetworkValues network_of(const LinkFit& link);
// Takes its values over, with their intervals.
void list_link(const LinkFit& link, NetworkFit& result);
// Takes a value of Search over. `range`: from Search::ranges(). `missing`: what to measure if it is infinite.
void list_searched(const char* field, double value, const char* unit, double range, const std::string& how,
                   const char* missing, NetworkFit& result);

// `folder` has the steps as `steps.csv`, for the simulations. `link`: from a link test, or nothing; then
// bandwidth and latency are known. Throws like simulated_steps().
NetworkFit fit_network(const ClusterFacts& facts, const StepTimes& times, const StepFit& fit,
                       const std::optional<LinkFit>& link, const std::filesystem::path& folder);

// Fits bandwidth, shares of links and the time of receivers to the runs. Values that the runs hardly tell are
// marked. `near`: a fit to similar runs, which shortens the search.
NetworkFit fit_runs(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                    const std::optional<LinkFit>& link, const std::optional<NetworkValues>& near);

// The mean time of a step of each run in simulations with the seeds from 1 on, in seconds.
std::vector<double> simulated_runs(const ClusterFacts& facts, std::span<const LoggedRun> runs,
                                   const NetworkValues& network, std::int64_t seeds);

// The step times as a file that a scenario reads: a header with the names of the workers, and a row for each
// step.
std::string steps_csv(const StepTimes& times);

}  // namespace psim::calibrate

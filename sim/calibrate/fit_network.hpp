// Fits the network of a cluster: to its logged steps, simulated with their own computations, so that the rest
// of each step takes as long as in the log; or to its runs, simulated one by one.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/step_times.hpp"
#include "sim/calibrate/cluster.hpp"

namespace psim::calibrate {

struct NetworkFit {
  NetworkValues values;
  std::vector<Fitted> fitted;  // with intervals, for the report
  double error = 0;            // root mean square of the relative errors of what was compared
  bool fits = true;            // whether the simulated steps are like those of the log
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

// The relative error of steps that are still like those of the log.
inline constexpr double worst_fit = 0.15;

// Of each simulation of a search: transfers that share links differ by chance.
inline constexpr int seeds_of_search = 3;

// Facts that logs tell without a simulation.
struct Measured {
  std::optional<LinkFit> link;
  std::optional<ServerWork> server;
};

// `folder` has the steps as `steps.csv`, for the simulations. Throws like simulated_steps().
NetworkFit fit_network(const ClusterFacts& facts, const StepTimes& times, const StepFit& fit,
                       const Measured& measured, const std::filesystem::path& folder);

// The relative error of a step that psim's model of a network leaves: the medians of docs/sharing.md, about.
// `consistency`: may be empty. Whether the workers of an asynchronous run fall into step is a matter of
// chance.
double usual_error(const std::string& consistency);

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

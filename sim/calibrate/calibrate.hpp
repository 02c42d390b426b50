// From the logs of a cluster to a scenario of it, with the uncertainty of each value and a verdict on steps
// that the fit has not seen. docs/calibrate.md explains every number.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/calibrate/verdict.hpp"
#include "sim/calibrate/cluster.hpp"
#include "sim/calibrate/fit_network.hpp"

namespace psim::calibrate {

struct Request {
  std::vector<std::string> logs;  // files
  ClusterFacts facts;
  EventNames names;
  std::optional<std::int64_t> skip;  // first steps that do not count; nothing: those of a warm-up
  double hold_out = 0.5;             // share of the steps for the verdict, the last ones; 0: no verdict
  double within = 0.05;              // largest relative error of a verdict that holds
};

struct Calibration {
  ClusterFacts facts;  // those of the log included
  std::vector<std::string> notes;
  StepLog::Counts counts;
  StepTimes times;               // of the whole log
  bool has_whole_steps = false;  // in the log
  bool in_step = false;          // and they are those of all workers
  StepFit steps;
  Measured measured;
  NetworkFit network;
  std::optional<Verdict> verdict;
  std::vector<StepTimes> simulated = {};  // for the verdict's figures
  StepTimes held_out = {};
  std::vector<LoggedRun> runs = {};  // instead of steps

  // Of the verdict: "75 steps", or "1 run".
  std::string judged_on() const;
};

// `tell` hears what is done next, for a line of progress. Throws LogError, InputError, UserError and
// std::runtime_error.
Calibration calibrate(const Request& request, const std::function<void(const std::string&)>& tell);

// "psim.calibration/1".
nlohmann::ordered_json calibration_json(const Calibration& calibration, const Request& request);

// The scenario of the cluster, with the origin of each fitted value beside it.
std::string calibrated_scenario(const Calibration& calibration);

// A page of figures, with measured steps beside simulated ones.
std::string calibration_page(const Calibration& calibration, const Request& request);

}  // namespace psim::calibrate

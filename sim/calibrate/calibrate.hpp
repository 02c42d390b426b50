// From the logs of a cluster to a scenario of it, with the uncertainty of each value and a verdict on steps
// that the fit has not seen. docs/calibrate.md explains every number.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/calibrate/step_times.hpp"
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

// The computation of workers, if a log has only the times of whole steps.

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

// What a calibration says about its scenario, in the same words on the screen, on the page and in the file.

// Whether the fit holds, and what the verdict does not judge.
std::string verdict_line(const Calibration& calibration);

// How a number that is judged agrees: "within 5 %" or "beyond 5 %".
std::string judgement(const Compared& judged, double within);

// Why predictions of the scenario mislead, each with what to do. Empty: nothing is known.
std::vector<std::string> warnings(const Calibration& calibration);

// The title of the scenario, which every study of it shows.
std::string scenario_title(const Calibration& calibration);

// The comment at the top of the scenario.
std::string scenario_comment(const Calibration& calibration);

}  // namespace psim::calibrate

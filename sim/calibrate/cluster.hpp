// A cluster as `psim calibrate` knows it: the facts that the user gives, the fitted values, and the scenario
// that both make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/calibrate/link_fit.hpp"
#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/step_times.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim::calibrate {

// Facts that a log lacks. Nothing: the user has not given it.
struct ClusterFacts {
  std::optional<std::int64_t> workers, servers;
  std::optional<double> model_bytes;
  std::string consistency;        // empty: bsp; or "all-reduce"
  std::string preset;             // of psim, for the other fields
  std::vector<std::string> sets;  // further fields, KEY=VALUE

  // The value that --set gives to a field, without quotes; nothing: none. The last one counts.
  std::optional<std::string> set_value(std::string_view field) const;
  // Whether --set gives a field whose name begins so.
  bool gives(std::string_view begin) const;
  // Whether every worker waits for all others in each step.
  bool is_synchronous() const;
};

// The architecture that --consistency may name instead of a model, because workers then wait for each other.
inline constexpr const char* all_reduce = "all-reduce";

// A number that was fitted, or that the log cannot tell.
struct Fitted {
  std::string field;                                  // of the scenario
  double value = 0;                                   // in SI units
  std::string unit;                                   // "s", "B/s"; may be empty
  std::optional<statistics::Interval> interval = {};  // 95 %
  std::string how;                                    // the method, one sentence
  std::string missing = {};                           // what to measure, if the log cannot tell the value
  bool is_given = false;                              // by the user
};

// Values of --set replace fitted ones. Throws UserError.
void take_given(const ClusterFacts& facts, std::vector<Fitted>& fitted);

// How fast the network of a cluster is, and its servers.
struct NetworkValues {
  double bandwidth = 1e15;                             // bytes per second of every link, in each direction
  double latency = 25e-6;                              // seconds, one way, of every link; of a usual cluster
  double share_turn = NetworkSpec().share_turn.value;  // bytes
  double share_cv = NetworkSpec().share_cv, share_queue = NetworkSpec().share_queue;
  double receive_overhead = 0;  // seconds of a process for a message that it takes in
  double server_time = 0;       // seconds of a server for each value that it receives
};

// The field with the work of a server for each value that it receives, and the speed that it refers to.
inline constexpr const char* server_work_field = "cluster.server.flops_per_value";
inline constexpr double server_speed = 10e9;

// How a scenario draws the steps.
enum class StepsFrom {
  file,    // in their order, for a comparison with the log step by step
  blocks,  // blocks of them, and the file is a sample of the cluster
};

// The text of a scenario whose folder has the steps as `steps.csv`.
struct ScenarioRequest {
  const ClusterFacts& facts;
  const StepFit& fit;
  NetworkValues network;
  StepsFrom from = StepsFrom::blocks;
  std::int64_t steps = 100;
  std::vector<Fitted> values = {};  // each has its origin beside its field
  std::string title = {};
};
std::string scenario_text(const ScenarioRequest& request);

// The scenario of a run of the cluster. `values`: as above.
std::string run_text(const ClusterFacts& facts, const NetworkValues& network, const LoggedRun& run,
                     const std::vector<Fitted>& values = {}, const std::string& title = {});

}  // namespace psim::calibrate

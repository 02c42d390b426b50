// The document that describes a finished run: --json prints it, and summary.json holds it.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "sim/record/identity.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

struct RunIdentity {
  std::string name;  // of the scenario file, without folder and suffix
  std::string title;
  std::int64_t seed = 0;
  std::string scenario_hash;  // of scenario, data and build: equal hash, equal run
};

nlohmann::ordered_json make_summary(const RunIdentity& identity, const Scenario& scenario,
                                    const RunResult& result);

// The part of a run's summary about the life of the nodes.

// Adds failures, slow workers, start-up times, sums of aggregators, energy and money, if the scenario has
// them.
void add_node_life(const Scenario& scenario, const RunResult& r, nlohmann::ordered_json& summary);

// The part of a run's summary about the answers of inference nodes.

// Requests, latencies in seconds, staleness in updates and age in seconds, in total and over time. `end`: the
// end of the run, in seconds.
nlohmann::ordered_json inference(const InferenceSpec& spec, const InferenceStats& stats, double end);

}  // namespace psim

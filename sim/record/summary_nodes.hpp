// The part of a run's summary about the life of the nodes.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/record/result.hpp"

namespace psim {

// Adds failures, slow workers, start-up times, sums of aggregators, energy and money, if the scenario has
// them.
void add_node_life(const Scenario& scenario, const RunResult& r, nlohmann::ordered_json& summary);

}  // namespace psim

// The part of a run's summary that says what nodes were like over time.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/record/result.hpp"

namespace psim {

// Failures, slow workers, start-up, sums on the way, energy and money: each where the scenario has it.
void add_node_life(const Scenario& scenario, const RunResult& r, nlohmann::ordered_json& summary);

}  // namespace psim

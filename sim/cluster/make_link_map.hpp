// The links that a run records: a function of the scenario, equal for both models of the network.
#pragma once

#include "sim/record/link_map.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// The map has the routes of the pairs of nodes in `connections`.
LinkMap make_link_map(const Scenario& scenario, const Connections& connections);

}  // namespace psim

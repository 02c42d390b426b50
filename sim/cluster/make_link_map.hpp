// What a run writes about its links: a function of the scenario, the same for both models of the network.
#pragma once

#include "sim/record/link_map.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// With the ways of those that sent messages.
LinkMap make_link_map(const Scenario& scenario, const Connections& connections);

}  // namespace psim

// The ranks of an all-reduce's workers. Implemented in sim/cluster/ranks.cpp, where ways through the network
// are found.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Sets `architecture.ranks` as `architecture.rank_order` says. The scenario must be sound.
void give_ranks(Scenario& scenario);

}  // namespace psim

// The ranks of an all-reduce's workers. Implemented in sim/cluster/ranks.cpp, which finds paths through the
// network.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Sets `architecture.ranks` by `architecture.rank_order`. The scenario must have no errors.
void give_ranks(Scenario& scenario);

}  // namespace psim

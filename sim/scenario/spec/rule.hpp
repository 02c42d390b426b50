// The rule that the servers of a scenario follow. The simulator, the facts of a record and the list of nodes
// that talk to each other all use it.
#pragma once

#include "sim/protocol/consistency.hpp"

namespace psim {

struct Scenario;

ConsistencyRule rule_of(const Scenario& scenario);

}  // namespace psim

// The rule that the servers of a scenario follow. The simulator, the facts of a record and the list of nodes
// that talk to each other all use it.
#pragma once

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

struct Scenario;

ConsistencyRule rule_of(const Scenario& scenario);

// The initial placement of a scenario's parameters on the servers.
KeySpace key_space_of(const Scenario& scenario);

}  // namespace psim

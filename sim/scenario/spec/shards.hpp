// The initial placement of a scenario's parameters on the servers.
#pragma once

#include "sim/protocol/key_space.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

KeySpace key_space_of(const Scenario& scenario);

}  // namespace psim

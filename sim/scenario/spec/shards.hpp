// Which server has which parameters of a scenario, at first.
#pragma once

#include "sim/protocol/key_space.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

KeySpace key_space_of(const Scenario& scenario);

}  // namespace psim

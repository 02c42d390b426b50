// Reads the platform file of topology simgrid-xml into the scenario.
#pragma once

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

void load_platform(Scenario& scenario, const LoadRequest& request, const Check& check);

}  // namespace psim

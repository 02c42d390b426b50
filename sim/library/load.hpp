// Turns a scenario of the library into a request and a loaded scenario.
#pragma once

#include "psim/scenario.hpp"
#include "sim/runs/request.hpp"

namespace psim::api {

// The request for this scenario. Its other members keep their defaults.
RunRequest request_of(const Scenario& scenario);

// Throws BadScenario.
LoadedScenario load(const Scenario& scenario);

}  // namespace psim::api

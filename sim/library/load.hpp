// From the library's scenario to what runs.
#pragma once

#include "psim/scenario.hpp"
#include "sim/runs/request.hpp"

namespace psim::api {

// The request for this scenario; the other members keep their defaults.
RunRequest request_of(const Scenario& scenario);

// Throws BadScenario.
LoadedScenario load(const Scenario& scenario);

}  // namespace psim::api

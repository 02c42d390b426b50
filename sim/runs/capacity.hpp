// Whether this machine has enough memory for a run, and whether the run takes long.
#pragma once

#include <string>

#include "sim/runs/request.hpp"

namespace psim {

// Says why the run does not fit into the available memory or the process's limit of address space, what needs
// the memory and what would help. Empty if the run fits, or if the request has `force`.
std::string no_room(const LoadedScenario& loaded, const RunRequest& request);
// A note on a run that will take long, with a remedy; empty for other runs.
std::string slow_note(const LoadedScenario& loaded);

}  // namespace psim

// Whether this machine can make a run, and whether anybody would wait for it.
#pragma once

#include <string>

#include "sim/runs/request.hpp"

namespace psim {

// Why the run does not fit into the memory that is available, or into the address space that the process may
// have, with what takes it and what would help; empty when it fits, or when `force` asks to try all the same.
std::string no_room(const LoadedScenario& loaded, const RunRequest& request);
// A note for a run that will take long, with a remedy; empty for other runs.
std::string slow_note(const LoadedScenario& loaded);

}  // namespace psim

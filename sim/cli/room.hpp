// Whether a run fits this machine, asked before it begins.
#pragma once

#include "sim/cli/command.hpp"

namespace psim::cli {

// Why the run does not fit into the memory that is available, or into the address space that the process may
// have, with what takes it and what would help; empty when it fits, or when --force asks to try all the same.
std::string no_room(const LoadedScenario& loaded, const Command& command);

}  // namespace psim::cli

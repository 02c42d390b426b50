// psim replay of a study: all of its runs again, compared with what they gave.
#pragma once

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// Prints how many runs are the same, and the first differences. Returns the exit code.
int replay_study(const fs::path& dir, const Command& command);

}  // namespace psim::cli

// psim replay of a study: makes all its runs again and compares the results.
#pragma once

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// Prints the number of equal runs, and the first differences. Returns the exit code.
int replay_study(const fs::path& dir, const Command& command);

}  // namespace psim::cli

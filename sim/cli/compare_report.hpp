// What `psim compare` prints.
#pragma once

#include <string>

#include "analysis/comparison.hpp"
#include "sim/cli/command.hpp"

namespace psim::cli {

// On stdout, for people or as JSON. `folder` holds the runs. Returns the exit code.
int print_comparison(const Command& command, const analysis::Comparison& comparison,
                     const std::string& folder);

}  // namespace psim::cli

// Finds mistakes in a lab.toml, such as references to missing things.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/course/lab.hpp"

namespace psim::cli {

// One sentence for each mistake: names of runs and parameters in expressions, {names} in texts and scenario
// files, and names used twice.
std::vector<std::string> mistakes_in(const Lab& lab);

}  // namespace psim::cli

// Graphs of tasks for people.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/console.hpp"

namespace psim::cli {

// What `psim explain tasks WHAT` prints. `what`: a consistency model, a scenario with tasks of its own, or
// empty for all models. Throws Refused for anything else.
std::string explain_tasks(const std::string& what);

// There is nothing of this name to explain; perhaps one of `names` is meant.
Refused nothing_called(const std::string& name, const std::vector<std::string>& names, std::string_view help);

}  // namespace psim::cli

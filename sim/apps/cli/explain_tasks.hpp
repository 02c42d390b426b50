// Graphs of tasks as text.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/console.hpp"

namespace psim::cli {

// The output of `psim explain tasks WHAT`. `what`: a consistency model, a scenario with its own tasks, or
// empty for all models. Throws Refused for anything else.
std::string explain_tasks(const std::string& what);

// The error for an unknown name; suggests one of `names`.
Refused nothing_called(const std::string& name, const std::vector<std::string>& names, std::string_view help);

}  // namespace psim::cli

#pragma once

#include <string>

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// `name`: the name of a study or a scenario; empty: psim alone.
int cite(const std::string& name, const Command& asked, bool as_bibtex);

}  // namespace psim::cli

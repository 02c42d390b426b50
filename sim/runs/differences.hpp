// What differs between two summaries of a run.
#pragma once

#include <string>

#include "sim/runs/outcome.hpp"

namespace psim {

// The first value that differs, with both; empty when they are equal.
std::string first_difference(const Json& recorded, const Json& now);

// What was recorded by another program; empty when there is nothing.
std::string notes_on_program(const Json& recorded, const Json& now);

// A summary without what is true of the program and not of the run.
Json without_program(Json summary);

}  // namespace psim

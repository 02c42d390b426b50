// Differences between two summaries of a run.
#pragma once

#include <string>

#include "sim/runs/outcome.hpp"

namespace psim {

// The first value that differs, in both versions; empty if the summaries are equal.
std::string first_difference(const Json& recorded, const Json& now);

// A note for each property of the program that differs; empty if none differs.
std::string notes_on_program(const Json& recorded, const Json& now);

// A summary without the properties of the program, such as its version.
Json without_program(Json summary);

}  // namespace psim

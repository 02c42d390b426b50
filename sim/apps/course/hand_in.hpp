// A hand-in: one file with a student's answers, scenarios and digests.
#pragma once

#include <string>

#include "sim/apps/course/session.hpp"
#include "sim/apps/course/solver.hpp"

namespace psim::cli {

// The hand-in in `text`, from a file called `name`. Throws Refused if it is not a hand-in.
Json hand_in_in(const std::string& text, const std::string& name);

Json hand_in_of(const Lab& lab, const LabSession& session, LabSolver& solver);

}  // namespace psim::cli

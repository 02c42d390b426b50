// `psim lab check`: predictions are locked, answers are compared, and a wrong one gets a hint more.
#pragma once

#include "sim/apps/course/session.hpp"

namespace psim::cli {

// Prints what is said of each answer. Exit code 0: all are right, or predicted.
int check_answers(const Lab& lab, LabSession& session);

// The scenario files of a session's folder that are not as they were given out.
std::vector<std::string> changed_files(const Lab& lab, const LabSession& session);

}  // namespace psim::cli

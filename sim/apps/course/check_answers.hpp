// `psim lab check`: locks predictions, compares answers, and adds a hint for each wrong answer.
#pragma once

#include "sim/apps/course/session.hpp"

namespace psim::cli {

// Prints a line for each answer. Exit code 0: all answers are right, or predictions.
int check_answers(const Lab& lab, LabSession& session);

// The scenario files in a session's folder that differ from the originals.
std::vector<std::string> changed_files(const Lab& lab, const LabSession& session);

}  // namespace psim::cli

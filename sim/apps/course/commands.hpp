// `psim lab` and `psim grade`.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/apps/course/session.hpp"

namespace psim::cli {

// The options of `lab`. words: list | start NUMBER | check | status | hand-in | try NUMBER.
struct LabCommand {
  std::vector<std::string> words;
  std::string student, out, folder = ".", course;
};
int lab(const LabCommand& command);

// The options of `grade`.
struct GradeCommand {
  std::vector<std::string> files;
  std::string csv, gradescope, junit, course, secret = "psim";
  double pass = 100;  // per cent
  unsigned jobs = 0;
  bool json = false, answers = false;
};
int grade(const GradeCommand& command);

// `psim lab check`: locks predictions, compares answers, and adds a hint for each wrong answer.

// Prints a line for each answer. Exit code 0: all answers are right, or predictions.
int check_answers(const Lab& lab, LabSession& session);

// The scenario files in a session's folder that differ from the originals.
std::vector<std::string> changed_files(const Lab& lab, const LabSession& session);

}  // namespace psim::cli

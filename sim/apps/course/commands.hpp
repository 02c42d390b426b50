// `psim lab` and `psim grade`.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"

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

}  // namespace psim::cli

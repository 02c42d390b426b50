// Makes the runs of a student's lab, each in a process of its own, and computes from them what the right
// answers are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cli/lab/lab.hpp"

namespace psim::cli {

class LabSolver {
 public:
  // `folder`: where its files are written, one run after the other.
  LabSolver(const Lab& lab, Drawn drawn, fs::path folder, std::string trace = "none");

  // The summary of the run of this name; it is made when it is first asked for. Throws Refused.
  const Json& run(const std::string& name);
  // Its digests, of all runs of the lab.
  std::map<std::string, std::string> digests();
  // An expression over parameters and runs, such as `bsp.sim_time_s / asp.sim_time_s`. Throws Refused.
  double value(const std::string& expression);
  // Throws Refused.
  RightAnswer right(const LabQuestion& question);
  // The mean score, from 0 to 1, of the design with this text over `seeds`; 0 where `within` does not hold.
  double judge(const std::string& design, const std::vector<std::int64_t>& seeds);

 private:
  Json made(const std::string& name, const std::string& scenario, const std::vector<std::string>& sets);
  double number(const std::string& path);

  const Lab& lab_;
  Drawn drawn_;
  fs::path folder_;
  std::string trace_;
  std::map<std::string, Json> runs_;
};

// The names in an expression that are no functions.
std::vector<std::string> names_in(const std::string& expression);

// The sets with which a design is laid over its base: one for each of its fields. Throws Refused where it
// sets something else than it may.
std::vector<std::string> design_sets(const LabDesign& design, const std::string& text);

}  // namespace psim::cli

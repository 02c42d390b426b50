// Makes the runs of a student's lab, each in a separate process, and computes the right answers from them.
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/lab.hpp"
#include "sim/scenario/load.hpp"

namespace psim::cli {

// The fields that a design sets, each with its line in the design's file. Throws Refused if the design is not
// TOML or sets a field that it may not set.
std::vector<Override> fields_of(const LabDesign& design, const std::string& text);

// A design on one seed.
struct Trial {
  std::int64_t seed = 0;
  bool is_stuck = false;      // it never ended
  bool keeps_limit = false;   // `within` holds
  double score = 0;           // 0 to 1; 0 if the run is stuck or `within` does not hold
  std::vector<double> shown;  // the values of LabDesign::shows; NaN if a value does not exist
};
double mean_score(const std::vector<Trial>& trials);

class LabSolver {
 public:
  // `folder`: for its files, one run after the other. `stop` ends a run: it is refused then.
  LabSolver(const Lab& lab, Drawn drawn, fs::path folder, std::stop_token stop = {});

  // The summary of the run with this name. The first call makes the run. Throws Refused.
  const Json& run(const std::string& name);
  // The digests of all runs of the lab.
  std::map<std::string, std::string> digests();
  // An expression over parameters and runs, such as `bsp.sim_time_s / asp.sim_time_s`. Throws Refused.
  double value(const std::string& expression);
  // Throws Refused.
  RightAnswer right(const LabQuestion& question);
  // `because` of a question, with this student's numbers: parameters, and each {= EXPRESSION}. Throws
  // Refused.
  std::string told(const std::string& because);
  // What a misconception gives for this student; nothing if it has no value here, which `psim lab try`
  // reports.
  std::optional<RightAnswer> given_by(const LabQuestion& question, const std::string& misconception);
  // Throws Refused. A number that a misconception gives is wrong even within the question's tolerance, if it
  // is nearer to the misconception's number than to the right one.
  Mark mark(const LabQuestion& question, const std::string& answer);
  // The misconception that leads to this answer, up to rounding: its number in the question. The nearest, if
  // several do.
  std::optional<std::size_t> misconception(const LabQuestion& question, const std::string& answer);
  // Runs the design with this text on each of `seeds`. Throws Refused, with the mistakes in the design.
  std::vector<Trial> judge(const std::string& design, const std::vector<std::int64_t>& seeds);

 private:
  void check(const std::vector<Override>& fields) const;
  Json made(const std::string& name, const std::string& scenario, const std::vector<std::string>& sets);
  Trial trial(std::int64_t seed, const std::vector<Override>& fields);
  double number(const std::string& path);

  const Lab& lab_;
  Drawn drawn_;
  fs::path folder_;
  std::stop_token stop_;
  std::map<std::string, Json> runs_;
};

// The expressions of a text's {= EXPRESSION}, one after the other.
std::vector<std::string> computed_in(const std::string& text);
// The names in an expression, except functions.
std::vector<std::string> names_in(const std::string& expression);

}  // namespace psim::cli

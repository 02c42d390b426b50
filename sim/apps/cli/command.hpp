// What the subcommands share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/runs/exit_code.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/outcome.hpp"
#include "sim/study/request.hpp"

namespace psim::cli {

// The options of `run`, `compare` and `check`.
struct Command : study::Request {
  std::vector<std::string> more_sets;  // KEY=VALUE that stand alone
  bool json = false;
  bool answer = false;            // run: for programs
  std::string progress = "auto";  // run: or json
};

// The options of `compare` and `merge` beside those.
struct StudyCommand {
  std::string baseline;    // an arm; empty: the first
  std::string slice;       // "3/8"; empty: the whole study, or what a Slurm array says
  double until_ci = 0;     // half-width of the ratios' intervals, as a share; 0: the seeds that are given
  bool count = false;      // only say how many runs there are
  std::string recipe;      // only print a script that makes the study on many machines ...
  std::size_t slices = 0;  // ... in so many slices; 0: by the estimated time
  std::vector<std::string> columns;
  bool wide = false, markdown = false, latex = false;
  bool page = false;  // also make its report.html
};

// The options of `fuzz`.
struct FuzzCommand {
  std::int64_t seed = 1;
  std::int64_t first = 0;  // number of the first run
  std::int64_t runs = 0;   // 0: until time is up
  double seconds = 0;      // of wall-clock time; 0: until all runs are done
  unsigned jobs = 0;       // at once; 0: as many as the machine has cores
  std::string out = "fuzz-failures";
  std::string base;  // a scenario whose consistency model all draws have; empty: each its own
};

int run(const Command& command);
// The same for programs, which read one line of JSON (sim/runs/answer.hpp). `asked` may throw Refused.
int answer(const std::function<Command()>& asked);
int check(const Command& command);
int replay(const std::string& directory, const Command& command);
int verify(const std::string& name, bool json);
int compare(const Command& command, const StudyCommand& study);
int merge(const std::string& directory, const StudyCommand& study, bool json);
int fuzz(const FuzzCommand& command);

// What `psim explain` and `psim list` print. `words`: a name, or "preset NAME" or "tasks MODEL|FILE"; throws
// Refused when there is nothing of this name.
std::string explain(std::vector<std::string> words);
std::string list();

// " on the validation set" where the curve and the target of a run, or of a group, are; else empty.
std::string where_judged(const Json& training);

// The target of a run: "accuracy 93 %", "loss 0.3 on the validation set"; empty when it has none.
std::string target_text(const Json& summary);

// The summary of a run for people.
std::string summary_text(const Json& summary, const std::string& replay_line);

}  // namespace psim::cli

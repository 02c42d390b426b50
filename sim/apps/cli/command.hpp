// Options and texts that subcommands share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/study/plan.hpp"

namespace psim::cli {

// The options of `run`, `compare` and `check`.
struct Command : study::Request {
  std::vector<std::string> more_sets;  // KEY=VALUE without --set
  bool json = false;
  bool answer = false;            // run: prints an answer for programs
  std::string progress = "auto";  // run: or json
};

// The further options of `compare` and `merge`.
struct StudyCommand {
  std::string baseline;    // an arm; empty: the first arm
  std::string slice;       // "3/8"; empty: the whole study, or the slice of a Slurm array
  double until_ci = 0;     // half-width of the ratios' intervals, as a share; 0: use the given seeds
  bool count = false;      // only print the number of runs
  std::string recipe;      // only print a script that makes the study on many machines ...
  std::size_t slices = 0;  // ... in this number of slices; 0: by the estimated time
  std::vector<std::string> columns;
  bool wide = false, markdown = false, latex = false;
  bool page = false;  // also make its report.html
};

int run(const Command& command);
// The same for programs: prints one line of JSON (sim/runs/answer.hpp). `asked` may throw Refused.
int answer(const std::function<Command()>& asked);
int check(const Command& command);
int replay(const std::string& directory, const Command& command);
int compare(const Command& command, const StudyCommand& study);
int merge(const std::string& directory, const StudyCommand& study, bool json);

// The output of `psim explain` and `psim list`. `words`: a name, "preset NAME" or "tasks MODEL|FILE". Throws
// Refused if psim does not know the name.
std::string explain(std::vector<std::string> words);
std::string list();

// " on the validation set" if the curve and the target of a run or group use it; otherwise empty.
std::string where_judged(const Json& training);

// The target of a run: "accuracy 93 %", "loss 0.3 on the validation set"; empty: none.
std::string target_text(const Json& summary);

// The summary of a run for people.
std::string summary_text(const Json& summary, const std::string& replay_line);
// In one line of a terminal of at least 80 columns: how the run ended, and a bar with the shares of its time.
std::string one_line(const Json& summary, int width);

}  // namespace psim::cli

// What the subcommands share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/scenario/load.hpp"

namespace psim::cli {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Exit codes, as `psim --help` lists them. After a signal it is 128 and the signal's number.
enum Exit : int { done = 0, answer_is_no = 1, bad_input = 2, our_fault = 3 };

// The options of `run`, `compare` and `check`.
struct Command {
  std::string scenario;
  std::vector<std::string> sets, more_sets;  // key=value: by --set, and standing alone
  std::optional<std::int64_t> seed;
  std::vector<std::string> data_dirs;
  std::string out;
  unsigned threads = 0;  // 0: as many as the machine has
  bool json = false;
  bool force = false;
  std::string trace;  // none, steps or events
  std::string context;
  bool no_files = false;          // run: whatever files the scenario names are not there
  std::string progress = "auto";  // run: or json
  unsigned jobs = 0;              // compare: processes at once; 0: as many as the machine has
  std::string seeds;              // compare: an axis, separated by commas
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

// The scenario and its overrides as asked for; malformed --set arguments become diagnostics.
LoadRequest load_request(const Command& command, Diagnostics& diagnostics);

// KEY=VALUE; nothing when it is not that.
std::optional<Override> override_of(const std::string& set);

// Without the one seed that --seed or --set give: for runs with seeds of their own.
Command without_seed(Command command);

// Where to look for data before the scenario's own folder: --data-dir, then PSIM_DATA.
std::vector<fs::path> data_folders(const Command& command);

RunIdentity identity_of(const LoadedScenario& loaded, std::string name);

// As many as the machine has where none are asked for.
unsigned thread_count(unsigned asked);

// Why the run does not fit into the memory that is available, or into the address space that the process may
// have, with what takes it and what would help; empty when it fits, or when --force asks to try all the same.
std::string no_room(const LoadedScenario& loaded, const Command& command);
// What to say before a run that will take long, and what helps; empty: it will not.
std::string slow_note(const LoadedScenario& loaded);

// The folder of the scenarios that come with psim: beside the program, its source, or here.
fs::path scenario_folder();

// The scenarios in it, by name.
std::vector<fs::path> scenarios();

// The file that `name` means: itself, or with .toml, or the scenario of this name that comes with psim.
// Where there is none: a path as it is; throws Refused, with the name that is most like it, for a name alone.
std::string find_scenario(const std::string& name);

// "stragglers" for scenarios/stragglers.toml.
std::string scenario_name(const std::string& path);

// runs/<name>-<first 8 digits of the hash>
fs::path run_directory(const std::string& name, const std::string& hash);

// Whether a run has a target, in any of its groups, that it has not reached.
bool misses_target(const Json& summary);

// Whether a run has reached what it was to reach: its target, if it has one, and its end.
bool is_yes(const Json& summary);

// Writes `text` to `path`; throws with the path when the disk refuses.
void write_file(const fs::path& path, const std::string& text);

// Throws InputError where there is no such file, and what is there is no file.
std::string read_file(const fs::path& path);

// Whether `text`, which may stand in a file of somebody else's, is the name of a file in a folder that is
// known, and no path to another one.
bool is_name(std::string_view text);

// As a shell takes it for one word: in single quotes where it needs them.
std::string shell_word(const std::string& text);
// The same of a file or folder: no program takes it for an option.
std::string file_word(const fs::path& path);
// "--baseline bsp", or "--baseline=-x" where the value would be taken for an option.
std::string option_words(const std::string& name, const std::string& value);

// The command line that repeats a run.
std::string replay_line(const Command& command);

int run(const Command& command);
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

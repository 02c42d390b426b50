// Subcommands for finished runs and studies.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_record.hpp"
#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// The options of `why`.
struct WhyCommand {
  std::vector<std::string> runs;  // one run, or two to compare
  std::string until = "end";      // or target
  std::optional<double> at;       // a date in simulated seconds
  bool gradients = false;         // compare each with a fresh gradient, in another run
  bool json = false;
};
int why(const WhyCommand& command);

// Writes an HTML page of the run or study `name` to `out`, or else into its folder. `json`: instead prints
// the data of a run's page to stdout.
int report(const std::string& name, const std::string& out, bool json);
// The options of `show`.
struct ShowCommand {
  std::string run, story, out;  // without a run: that of the story is made
  std::string film;             // a file for the film of one step, instead of the page
  std::optional<double> at;     // the date at which the page opens, in simulated seconds
};
// Writes a page on which a run's events play step by step, perhaps with the sentences of a story.
int show(const ShowCommand& command);
// Writes a page with a slider for each axis of the study `name` to `out`.
int sliders(const std::string& name, const std::string& out);
// The folder of a finished run: a path, or a name on the shelf of runs.
fs::path run_named(const std::string& name);

// Prints to stderr which of the run's files has changed since psim wrote it.
void say_if_changed(const fs::path& run);

// A run with its events. Prints a note if its files have changed.
analysis::RunRecord open_record(const fs::path& run);

// Calls `answer`. If the run's summary lacks a value, throws Unverifiable with the run's path.
int about_run(const fs::path& run, const std::function<int()>& answer);

}  // namespace psim::cli

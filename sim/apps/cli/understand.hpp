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

// The options of `timeline`.
struct TimelineCommand {
  std::string run;
  std::optional<std::int64_t> clocks;
  std::optional<double> from, until;  // simulated seconds
  std::optional<int> width;           // characters; default: the terminal's width
  bool messages = false;              // print a table of messages instead
};
int timeline(const TimelineCommand& asked);

// The options of `export`. An empty path: not requested.
struct ExportCommand {
  std::string run;                       // or a study
  std::string perfetto, csv, dot, tikz;  // files
  std::string svg, weights;              // folders
  std::optional<double> from, until;     // simulated seconds
  double width_mm = 180;                 // of charts
  bool all_flows = false, force = false;
};
int export_one(const ExportCommand& asked);

// Writes an HTML page of the run or study `name` to `out`, or else into its folder. `json`: instead prints
// the data of a run's page to stdout.
int report(const std::string& name, const std::string& out, bool json);
// Writes a page with a slider for each axis of the study `name` to `out`.
int sliders(const std::string& name, const std::string& out);
// The options of `what-if`.
struct WhatIfCommand {
  std::string run;
  std::vector<std::string> changes, sets;  // sets: KEY=VALUE
  unsigned jobs = 0;                       // re-runs at the same time; 0: one per core
  bool yes = false, json = false;
};
int what_if(const WhatIfCommand& command);

// The folder of a finished run: a path, or a name on the shelf of runs.
fs::path run_named(const std::string& name);

// Prints to stderr which of the run's files has changed since psim wrote it.
void say_if_changed(const fs::path& run);

// A run with its events. Prints a note if its files have changed.
analysis::RunRecord open_record(const fs::path& run);

// Calls `answer`. If the run's summary lacks a value, throws Unverifiable with the run's path.
int about_run(const fs::path& run, const std::function<int()>& answer);

}  // namespace psim::cli

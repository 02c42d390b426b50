// The options of the commands that are built at their first use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/study/publish/papers.hpp"

namespace psim::cli {

// The options of `timeline`.
struct TimelineCommand {
  std::string run;
  std::optional<std::int64_t> clocks;
  std::optional<double> from, until;  // simulated seconds
  std::optional<int> width;           // characters; default: the terminal's width
  bool messages = false;              // print a table of messages instead
};
int timeline(const TimelineCommand& asked);

// The options of `verify`.
struct VerifyCommand {
  std::string run;  // its folder, or its name on the shelf of runs
  bool json = false;
};
int verify(const VerifyCommand& asked);

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

// The options of `what-if`.
struct WhatIfCommand {
  std::string run;
  std::vector<std::string> changes, sets;  // sets: KEY=VALUE
  unsigned jobs = 0;                       // re-runs at the same time; 0: one per core
  bool yes = false, json = false;
};
int what_if(const WhatIfCommand& command);

// The options of `fuzz`.
struct FuzzCommand {
  std::int64_t seed = 1;
  std::int64_t first = 0;  // the number of the first run
  std::int64_t runs = 0;   // 0: until time is up
  double seconds = 0;      // of wall-clock time; 0: until all runs are done
  unsigned jobs = 0;       // at the same time; 0: one per core
  std::string out = "fuzz-failures";
  std::string base;  // a scenario whose consistency model all draws use; empty: each draw has its own
};

int fuzz(const FuzzCommand& command);

// psim archive: a complete study as one file, ready to be published.
struct ArchiveCommand : study::Publication {
  std::string study;  // a name, a path or `latest`
  std::string out;    // empty: NAME.tar.gz
  std::vector<std::string> data_dirs;
};
int archive(const ArchiveCommand& asked);

// psim cite.
struct CiteCommand {
  std::string name;  // of a study or a scenario; empty: psim alone
  std::vector<std::string> data_dirs;
  bool bibtex = false;
};
int cite(const CiteCommand& asked);

}  // namespace psim::cli

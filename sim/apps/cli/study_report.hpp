// What a study's commands print.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/study/folder.hpp"

namespace psim::cli {

// The one target that all runs have; empty where there is none, or where they differ.
std::string common_target(const analysis::Study& study);

// Throws Refused for a column of the table that there is not: before any run is made.
void check_columns(const StudyCommand& study);

// Says on stderr which results in the folder are of another build, or damaged. Throws Refused when two
// results of one run contradict each other.
void say_what_is_not_read(const fs::path& dir, const study::Journal& journal);

// The results of a study with all its runs, of whatever build. Throws Refused where some are missing.
analysis::Study complete_results(const study::StudyFolder& folder);

// Of a study: its runs, those that missed their target, and those that did not reach what they were to reach.
struct Counts {
  std::size_t runs = 0, missed = 0, no = 0;
};

// Writes a complete study's files, if its folder can be written, and prints it, as `study` asks. `line`: the
// command that does it again.
Counts finish_study(const study::StudyFolder& folder, study::Journal& journal, const StudyCommand& study,
                    bool json, const std::string& line);

// The runs that are missing, and what makes them.
void print_missing(const study::StudyFolder& folder, const std::vector<Json>& missing);

}  // namespace psim::cli

// The output of a study's commands.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/study/folder.hpp"

namespace psim::cli {

// The target of all runs; empty if runs have no target or different targets.
std::string common_target(const analysis::Study& study);

// Throws Refused for an unknown column of the table. Call it before any run is made.
void check_columns(const StudyCommand& study);

// Prints to stderr how many results in the folder are of other builds or damaged. Throws Refused if two
// results of one run contradict each other.
void say_what_is_not_read(const fs::path& dir, const study::Journal& journal);

// The results of a complete study, of any build. Throws Refused if a run is missing.
analysis::Study complete_results(const study::StudyFolder& folder);

// Numbers of a study's runs: all, those that missed their target, and those that did not reach their target
// or end.
struct Counts {
  std::size_t runs = 0, missed = 0, no = 0;
};

// Writes the files of a complete study, if its folder is writable, and prints the study with the options of
// `study`. `line`: the command that repeats this.
Counts finish_study(const study::StudyFolder& folder, study::Journal& journal, const StudyCommand& study,
                    bool json, const std::string& line);

// Prints the missing runs, and the commands that make them.
void print_missing(const study::StudyFolder& folder, const std::vector<Json>& missing);

}  // namespace psim::cli

// The output of a study's commands.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_files.hpp"
#include "analysis/study/study.hpp"
#include "sim/apps/cli/command.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/plan.hpp"
#include "sim/study/tuning.hpp"

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

// Scripts that make a study on many machines. They work without changes.

// "slurm", "parallel"
std::vector<std::string> recipe_names();

// The recipe that `study` names, with study.slices slices; 0: slices of about ten minutes, at most 100. Its
// paths are absolute, so it works from any folder. Throws Refused if it would not work.
std::string recipe(const study::Plan& plan, const Command& command, const StudyCommand& study,
                   const study::Effort& effort);

// Pages of runs and studies, and the rules for replacing files with them.

// The file of a page: `out`, or report.html in `dir`. Throws Refused if it exists and is not a page of psim
// report.
fs::path page_target(const fs::path& dir, const std::string& out,
                     std::string_view name = analysis::page_name);

// Writes a page, and prints its path after `called`. Readers see either the old page or the new one.
void put_page(const fs::path& target, const std::string& text, const char* called = "report");
// Writes the page of a study, and prints its path.
void write_study_page(const study::StudyFolder& folder, const analysis::Study& study,
                      const analysis::Evaluation& evaluation, const fs::path& target);

}  // namespace psim::cli

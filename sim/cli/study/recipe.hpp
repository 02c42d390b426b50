// Scripts that make a study on many machines, printed as text that works as it stands.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/study/plan.hpp"
#include "sim/cli/study/tuning.hpp"

namespace psim::cli {

// "slurm", "parallel", "snakemake"
std::vector<std::string> recipe_names();

// The recipe that `study` names, in as many slices as it says; 0: as many as take about ten minutes each, at
// most 100. Paths in it are absolute, so it may be run from anywhere. Throws Refused where it would not work.
std::string recipe(const Plan& plan, const Command& command, const StudyCommand& study, const Effort& effort);

}  // namespace psim::cli

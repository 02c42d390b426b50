// Scripts that make a study on many machines, printed as text that works as it stands.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/study/plan.hpp"
#include "sim/study/tuning.hpp"

namespace psim::cli {

// "slurm", "parallel", "snakemake"
std::vector<std::string> recipe_names();

// The recipe that `study` names, in as many slices as it says; 0: as many as take about ten minutes each, at
// most 100. Paths in it are absolute, so it may be run from anywhere. Throws Refused where it would not work.
std::string recipe(const study::Plan& plan, const Command& command, const StudyCommand& study,
                   const study::Effort& effort);

}  // namespace psim::cli

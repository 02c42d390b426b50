// Scripts that make a study on many machines. They work without changes.
#pragma once

#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/study/plan.hpp"
#include "sim/study/tuning.hpp"

namespace psim::cli {

// "slurm", "parallel"
std::vector<std::string> recipe_names();

// The recipe that `study` names, with study.slices slices; 0: slices of about ten minutes, at most 100. Its
// paths are absolute, so it works from any folder. Throws Refused if it would not work.
std::string recipe(const study::Plan& plan, const Command& command, const StudyCommand& study,
                   const study::Effort& effort);

}  // namespace psim::cli

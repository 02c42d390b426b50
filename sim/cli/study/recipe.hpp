// Scripts that make a study on many machines, printed as text that works as it stands.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/study/plan.hpp"

namespace psim::cli {

// "slurm", "parallel", "snakemake"
std::vector<std::string> recipe_names();

// Cut into `slices`; 0: as many as take about ten minutes each, at most 100. Paths in it are absolute, so it
// may be submitted from anywhere.
std::string recipe(const std::string& name, const Plan& plan, const Command& command, std::size_t slices);

}  // namespace psim::cli

// The scenarios that come with psim, and what a name means.
#pragma once

#include <string>
#include <vector>

#include "sim/runs/files.hpp"

namespace psim {

// The folder that they are in: beside the program, its source, or here.
fs::path scenario_folder();

// The scenarios in it, by name.
std::vector<fs::path> scenarios();

// The file that `name` means: itself, or with .toml, or the scenario of this name that comes with psim.
// Where there is none: a path as it is; throws Refused, with the name that is most like it, for a name alone.
std::string find_scenario(const std::string& name);

// "stragglers" for scenarios/stragglers.toml.
std::string scenario_name(const std::string& path);

}  // namespace psim

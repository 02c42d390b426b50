// The scenarios that come with psim, and the meaning of a scenario's name.
#pragma once

#include <string>
#include <vector>

#include "sim/runs/files.hpp"

namespace psim {

// Their folder: next to the program, in its source, or in the current folder.
fs::path scenario_folder();

// The scenarios in that folder, by name.
std::vector<fs::path> scenarios();

// The file that `name` means: the file itself, the file with .toml, or the scenario of this name that comes
// with psim. If none exists, returns a path unchanged; for a plain name throws Refused with the most similar
// name.
std::string find_scenario(const std::string& name);

// "stragglers" for scenarios/stragglers.toml.
std::string scenario_name(const std::string& path);

}  // namespace psim

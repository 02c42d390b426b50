// What decides a run's bits: the scenario, its data, and the program.
#pragma once

#include <map>
#include <string>

#include "sim/scenario/load.hpp"

namespace psim {

// 16 hexadecimal digits, of the resolved scenario, the content of every file that it names, psim's version,
// the instruction set and the libraries. Equal hash and equal build_id: equal run.
std::string scenario_hash(const LoadedScenario& loaded);

std::string version_text();
std::string instruction_set();

// The versions of those that compute what is recorded, by name: SimGrid the dates, Eigen the gradients,
// Snappy the bytes of compressed messages.
std::map<std::string, std::string> libraries();

// A hash of the running program: results of another build are not reused.
std::string build_id();

}  // namespace psim

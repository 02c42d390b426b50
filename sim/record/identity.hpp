// Everything that decides a run's bits: the scenario, its data, and the program.
#pragma once

#include <map>
#include <string>

#include "sim/scenario/load.hpp"

namespace psim {

// 16 hexadecimal digits: a hash of the resolved scenario, the content of every file that it names, psim's
// version and the libraries. Runs with equal hash and equal build_id are equal.
std::string scenario_hash(const LoadedScenario& loaded);

std::string version_text();

// The kind of processor for which psim was compiled: "x86-64", "aarch64" or "other".
std::string cpu_family();

// The versions, by name, of the libraries that decide recorded values: SimGrid computes dates under fluid,
// Snappy the bytes of compressed messages.
std::map<std::string, std::string> libraries();

// A hash of the running program; psim-further counts as the psim beside it. psim does not reuse results of
// another build.
std::string build_id();

}  // namespace psim

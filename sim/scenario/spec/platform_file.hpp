// SimGrid's report about a platform file. Implemented in sim/cluster/platform.cpp, which uses SimGrid.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

struct PlatformReport {
  std::string error;               // SimGrid's error message; empty if there is none
  std::vector<std::string> hosts;  // all hosts, in file order
  std::vector<std::pair<std::uint32_t, std::uint32_t>> without_route;
  PlatformFile file;
};

// Loads the text of a file in a child process, because SimGrid aborts on many errors, and asks for the routes
// of `pairs` in both directions. Node i is the host `hosts[i]`, or host i of the file if `hosts` is empty. If
// the file has too few hosts, or a host is unknown, only `PlatformReport::hosts` is filled in. Call it before
// threads are started.
PlatformReport inspect_platform(const std::string& text, const std::vector<std::string>& hosts,
                                std::uint32_t nodes,
                                const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

}  // namespace psim

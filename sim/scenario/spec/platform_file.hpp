// What SimGrid makes of a platform file. Implemented in sim/cluster/platform_file.cpp, where SimGrid is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

struct PlatformReport {
  std::string error;               // what SimGrid says against it; empty when nothing
  std::vector<std::string> hosts;  // all that it has, in file order
  std::vector<std::pair<std::uint32_t, std::uint32_t>> without_route;
  PlatformFile file;
};

// Loads the file in a child process, because SimGrid aborts on many a mistake, and asks for the routes of
// `pairs` there and back. Node i is the host called `hosts[i]`, or, when `hosts` is empty, the file's i-th;
// when there are not enough hosts, or one is not known, only `PlatformReport::hosts` is filled in.
// Call it before there are threads.
PlatformReport inspect_platform(const std::filesystem::path& path, const std::vector<std::string>& hosts,
                                std::uint32_t nodes,
                                const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

}  // namespace psim

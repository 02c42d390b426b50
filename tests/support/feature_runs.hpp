// For programs that put features and fields together: their scenarios, and the processes that run them.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.hpp"

namespace psim::test {

using Assignments = std::map<std::string, std::string>;  // by field

// Those of lines such as `training.steps = 5`.
inline Assignments assignments_of(std::string_view lines) {
  Assignments result;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t equals = line.find(" = ");
    result.emplace(line.substr(0, equals), line.substr(equals + 3));
  }
  return result;
}

// Those of a file with tables.
inline Assignments values_of_tables(std::string_view text) {
  std::string lines, table;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('[')) table = std::string(line.substr(1, line.size() - 2)) + '.';
    else lines += table + std::string(line) + '\n';
  }
  return assignments_of(lines);
}

// Adds them to the request in the order of their names, so tables come before the fields of their elements.
// Returns them as options.
inline std::string add_sets(const Assignments& sets, LoadRequest& request) {
  std::string options;
  for (const auto& [key, value] : sets) {
    request.overrides.push_back({key, value});
    options += fmt::format(" --set '{}={}'", key, value);
  }
  return options;
}

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The files that examples of features name.
inline void write_inputs(const std::filesystem::path& folder) {
  write(folder / "cluster.xml", R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <cluster id="a" prefix="node-" suffix="" radical="0-7" speed="1Gf" bw="1Gbps" lat="50us"/>
    <cluster id="b" prefix="node-" suffix="" radical="8-15" speed="3Gf" bw="300Mbps" lat="20us"/>
    <link id="between" bandwidth="400Mbps" latency="30us"/>
    <zoneRoute src="a" dst="b" gw_src="node-a_router" gw_dst="node-b_router"><link_ctn id="between"/></zoneRoute>
  </zone>
</platform>
)");
  write(folder / "links.csv", "0, 1\n0.004, 0.5\n0.03, 0.1\n0.05, 1\n");
  write(folder / "steps.csv",
        "worker,step,seconds\n0,0,0.001\n0,1,0.004\n0,2,0.002\n0,3,0.001\n0,4,0.0005\n");
}

// The status (waitpid) of a process that ends with the exit code `work()`; -1: there is no process.
template <class Work>
int status_of_child(unsigned seconds, const Work& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    alarm(seconds);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// --every N: only each N-th case; --only NAME: only its cases.
struct Chosen {
  explicit Chosen(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
      const std::string& value = words[i + 1];
      if (words[i] == "--only") only = value;
      else if (words[i] == "--every") std::from_chars(value.data(), value.data() + value.size(), every);
    }
  }
  // Whether the next case is wanted. `has_name`: it has the name of --only.
  bool takes(bool has_name) { return only.empty() ? number++ % every == 0 : has_name; }

  std::string only;
  std::size_t every = 1, number = 0;
};

}  // namespace psim::test

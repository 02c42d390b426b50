// The parts of `psim compare`: the runs, which are every combination of the axes' values, and what it prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/comparison.hpp"
#include "sim/cli/command.hpp"

namespace psim::cli {

struct Point {
  std::vector<std::string> labels;  // of the axes but the seed
  Command command;                  // what runs it alone
  std::int64_t seed = 0;
  std::string hash;
  std::optional<Json> summary;
};

struct Plan {
  std::vector<std::string> axes = {};  // without the seed
  std::vector<Point> points = {};      // the first axis slowest, seeds fastest; no scenario twice
};

// Every point is checked before anything runs. Throws Invalid with all diagnostics, each once, when one is
// wrong. `runs`: they are to be run, so this machine must have room for each.
Plan plan_comparison(const Command& command, bool runs);

// On stdout, for people or as JSON. `first` is the first of the runs. Returns the exit code.
int print_comparison(const Command& command, const analysis::Comparison& comparison, const Point& first);

}  // namespace psim::cli

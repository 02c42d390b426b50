// Subcommands that look at finished runs and studies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command.hpp"

namespace psim::cli {

// The options of `why`.
struct WhyCommand {
  std::vector<std::string> runs;  // one, or two to compare
  std::string until = "end";      // or target
  std::optional<double> at;       // a date in simulated seconds
  bool gradients = false;         // compare each with a fresh one, in another run
  bool json = false;
};
int why(const WhyCommand& command);

// The folder of a finished run: a path, or a name on the shelf of runs.
fs::path run_named(const std::string& name);

}  // namespace psim::cli

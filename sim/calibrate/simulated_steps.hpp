// The step times of a scenario, for comparisons with those of a log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/calibrate/step_times.hpp"

namespace psim::calibrate {

// A run without a folder.
struct Trial {
  std::string scenario;          // TOML
  std::filesystem::path folder;  // of its files
  std::int64_t seed = 1;
  std::string name = {};  // of the run, for errors
};

// The computations of each step, and the rest of the time until the worker's next step. The last step of a
// run has no next one and is left out. Runs go in parallel. Throws UserError with the reason if psim refuses
// a scenario or a run gets stuck, and std::runtime_error.
std::vector<StepTimes> simulated_steps(const std::vector<Trial>& trials);

// Throws UserError with the reason if psim refuses the scenario.
void check_scenario(const Trial& trial);

}  // namespace psim::calibrate

// The effect of staleness on a run's gradients: makes the run once more, with a probe.
#pragma once

#include <cstddef>
#include <string>

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// The gradients of each staleness, in updates.
struct GradientsReport {
  std::string text;
  Json json;
};
// Throws Refused if gradients cannot be compared, or if the run now has another result.
GradientsReport measure_gradients(const fs::path& run);

}  // namespace psim::cli

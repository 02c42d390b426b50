// What staleness did to a run's gradients: the run is made once more, with a probe that watches it.
#pragma once

#include <cstddef>
#include <string>

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

// Of the gradients of one staleness, in updates.
struct GradientsReport {
  std::string text;
  Json json;
};
// Throws Refused where gradients cannot be compared, or the run comes out differently now.
GradientsReport measure_gradients(const fs::path& run);

}  // namespace psim::cli

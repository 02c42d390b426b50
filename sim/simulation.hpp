// One run: reads a scenario, sends events to the sinks, and returns the results. One process makes one
// simulation, because psim cannot reset SimGrid's clock.
#pragma once

#include <string>
#include <vector>

#include "sim/record/result.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

class GradientProbe;

struct RunOptions {
  unsigned threads = 1;                // for gradients and evaluations
  std::string context;                 // SimGrid's context factory; empty: the build's default
  GradientProbe* gradients = nullptr;  // compares gradients with fresh gradients; may be null
};

RunResult simulate(const LoadedScenario& loaded, const RunOptions& options,
                   const std::vector<EventSink*>& sinks);

}  // namespace psim

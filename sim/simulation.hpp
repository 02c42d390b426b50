// One run: a scenario in, events to the sinks, results out. One simulation per process: SimGrid's clock
// cannot be set back.
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
  GradientProbe* gradients = nullptr;  // to compare gradients with fresh ones; null: nobody asks
};

RunResult simulate(const LoadedScenario& loaded, const RunOptions& options,
                   const std::vector<EventSink*>& sinks);

}  // namespace psim

// One run: a scenario in, events to the sinks, results out. One simulation per process: SimGrid's clock
// cannot be set back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/evaluator.hpp"
#include "sim/record/recorder.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

struct RunOptions {
  unsigned threads = 1;        // for gradients and evaluations
  std::string context;         // SimGrid's context factory; empty: the build's default
};

struct RunResult {
  RunStats stats;
  std::string digest = {};
  double sim_time = 0;                  // seconds, when the last worker finished or the run was ended
  std::vector<CurvePoint> curve = {};        // first: initial weights; last: final weights; empty for phantom
  std::optional<CurvePoint> target = {};     // the first point that reached it
  std::int64_t parameters = 0;
  double flops_per_sample = 0;
  std::vector<std::string> stuck = {};       // when nothing could happen any more: who waits for what
};

RunResult simulate(const LoadedScenario& loaded, const RunOptions& options, const std::vector<EventSink*>& sinks);

// Clocks of each worker that the scenario's steps or epochs make; none when something else ends the run.
std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples);

}  // namespace psim

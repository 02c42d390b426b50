// Runs a scenario with one line on stderr while it goes on, when stderr is a terminal; at most ten times a
// second.
#pragma once

#include <string>
#include <vector>

#include "sim/simulation.hpp"

namespace psim::cli {

// Seconds of the machine's steady clock. The only use of real time in psim; nothing simulated sees it.
double host_seconds();

// "50 s", "12 min", "3.5 h": as exact as an estimate.
std::string time_text(double seconds);

RunResult simulate_with_progress(const LoadedScenario& loaded, const RunOptions& options,
                                 std::vector<EventSink*> sinks);

}  // namespace psim::cli

// Runs a scenario and says on stderr, at most ten times a second, how far it is.
#pragma once

#include <string>
#include <vector>

#include "sim/simulation.hpp"

namespace psim::cli {

// Seconds of the machine's steady clock. The only use of real time in psim; nothing simulated sees it.
double host_seconds();

// "50 s", "12 min", "3.5 h": as exact as an estimate.
std::string time_text(double seconds);

// One line, drawn anew, when stderr is a terminal. `as_json`: instead of that lines of JSON, whatever stderr
// is, with `sim_time_s`, `updates`, and where they are known `share` and `seconds_to_go`.
RunResult simulate_with_progress(const LoadedScenario& loaded, const RunOptions& options,
                                 std::vector<EventSink*> sinks, bool as_json = false);

}  // namespace psim::cli

// Making runs.
#pragma once

#include <stdexcept>
#include <string>

#include "psim/results.hpp"
#include "psim/scenario.hpp"

namespace psim {
class EventSink;
}

namespace psim::api {

struct RunOptions {
  unsigned threads =
      1;  // for gradients and evaluations; 0: as many as the machine has. Never changes results.
  std::string out =
      {};  // a folder that keeps the run (run.db, summary.json, scenario.toml); empty: none does
  std::string trace = "events";  // what `out` keeps: none, steps or events
};

// A run that failed by psim's fault, or the machine's.
struct RunFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Makes one run in a process of its own, as often as you like. To be called while this process has one
// thread. Throws BadScenario, and RunFailed.
Result run(const Scenario& scenario, const RunOptions& options = {});

// Makes a run in this process; `observer` gets its events (sinks.hpp). Once in a process, because SimGrid's
// clock cannot be set back: throws std::logic_error the second time. Throws BadScenario.
Result watch(const Scenario& scenario, EventSink& observer, const RunOptions& options = {});

}  // namespace psim::api

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
      {};  // the folder that keeps the run (run.db, summary.json, scenario.toml); empty: it is not kept
  std::string trace = "events";  // the events that `out` keeps: none, steps or events
  bool force = false;            // even if memory seems too small
};

// psim refuses the run: it needs more memory than there is, or `out` holds something else.
struct RunRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A run failed because of psim or the machine.
struct RunFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Makes one run in a process of its own, as often as you like. Call it while this process has one thread, and
// not after `watch`: that throws std::logic_error. Throws BadScenario, RunRefused, RunFailed,
// std::invalid_argument for another `trace`, and std::logic_error for a row of the program's own that cannot
// be used.
Result run(const Scenario& scenario, const RunOptions& options = {});

// Makes a run in this process; `observer` gets its events (sinks.hpp). If the observer throws, it gets no
// further events, and the exception comes out when the run has ended. Only one run in a process can be
// watched, because SimGrid's clock cannot be set back: the second call throws std::logic_error. Otherwise
// throws as `run`.
Result watch(const Scenario& scenario, EventSink& observer, const RunOptions& options = {});

}  // namespace psim::api

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
  unsigned threads = 1;  // for gradients and evaluations; 0: all cores. Never changes results.
  std::string out = {};  // the folder for run.db, summary.json and scenario.toml; empty: the run is not kept
  std::string trace = "events";  // the events that `out` keeps: none, steps or events
  bool force = false;            // run even if memory seems too small
  bool costs =
      false;  // with events: also make the run without its faults, if it is small, and keep the difference
};

// psim refuses the run: the machine has too little memory, or `out` holds something else.
struct RunRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A run failed because of psim or the machine.
struct RunFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Makes one run in a separate process. You may call it any number of times. Call it while this process has
// only one thread, and before `watch`: after `watch` it throws std::logic_error. Throws BadScenario,
// RunRefused, RunFailed, std::invalid_argument for an unknown `trace`, and std::logic_error if the program
// has added a row that psim cannot use.
Result run(const Scenario& scenario, const RunOptions& options = {});

// Makes a run in this process; `observer` gets its events (sinks.hpp). If the observer throws, it gets no
// further events, and `watch` rethrows the exception when the run has ended. A process can watch only one
// run, because SimGrid's clock cannot be set back: the second call throws std::logic_error. All other
// exceptions are those of `run`.
Result watch(const Scenario& scenario, EventSink& observer, const RunOptions& options = {});

}  // namespace psim::api

// Makes a run and records it.
#pragma once

#include "sim/record/event.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/request.hpp"

namespace psim {

// Makes the run. `watcher`, if any, gets its events. If request.out names a folder, the run is first written
// to a temporary folder next to it, and moved there when it is complete. Returns the summary.
Json make_and_record(const RunRequest& request, const LoadedScenario& loaded, const RunIdentity& identity,
                     EventSink* watcher = nullptr);

}  // namespace psim

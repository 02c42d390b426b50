// Making a run, and writing it down.
#pragma once

#include "sim/record/event.hpp"
#include "sim/runs/outcome.hpp"
#include "sim/runs/request.hpp"

namespace psim {

// Makes the run; `watcher`, if there is one, gets its events. Where the request keeps it (request.out names a
// folder), it is written to a folder of its own beside that, and moved there when it is complete. Returns its
// summary.
Json make_and_record(const RunRequest& request, const LoadedScenario& loaded, const RunIdentity& identity,
                     EventSink* watcher = nullptr);

}  // namespace psim

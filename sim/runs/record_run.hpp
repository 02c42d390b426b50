// Makes a run and records it.
#pragma once

#include <string>

#include "sim/record/event.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/request.hpp"

namespace psim {

// Makes the run. `watcher`, if any, gets its events. If request.out names a folder, the run is first written
// to a temporary folder next to it, and moved there when it is complete. Returns the summary.
Json make_and_record(const RunRequest& request, const LoadedScenario& loaded, const RunIdentity& identity,
                     EventSink* watcher = nullptr);

// Whether this machine has enough memory for a run, and whether the run takes long.

// Says why the run does not fit into the available memory or the process's limit of address space, what needs
// the memory and what would help. Empty if the run fits, or if the request has `force`.
std::string no_room(const LoadedScenario& loaded, const RunRequest& request);
// A note on a run that will take long, with a remedy; empty for other runs.
std::string slow_note(const LoadedScenario& loaded);

}  // namespace psim

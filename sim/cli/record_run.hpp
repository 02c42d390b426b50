// Making a run, and writing it down.
#pragma once

#include "sim/cli/command.hpp"

namespace psim::cli {

// The scenario that the command asks for. Throws Invalid with all that is wrong.
LoadedScenario load_for_run(const Command& command);

// Makes the run. Where the command keeps it (command.out names a folder), it is written to a folder of its
// own beside that, and moved there when it is complete. Returns its summary.
Json make_and_record(const Command& command, const LoadedScenario& loaded, const RunIdentity& identity);

}  // namespace psim::cli

// Files that the user names for psim to write: what may be replaced there, and how.
#pragma once

#include <string>
#include <string_view>

#include "sim/cli/command.hpp"

namespace psim::cli {

// Throws Refused where something is that is no file (a folder, a device, a pipe), or a link to nothing. It is
// not opened: that of a pipe may never come to an end.
void check_is_file(const fs::path& path);

// The run or study whose folder `path` is in, at whatever depth; empty where there is none.
fs::path owner_of(const fs::path& path);

// Throws Refused where `path` is among the files of a run or study: psim removes and archives only the files
// that it knows there. `example`: what to name instead.
void check_outside(const fs::path& path, std::string_view example);

// Replaces what is at `path` in one step, or writes nothing. A link stays, and what it leads to is replaced.
// Throws Refused, and says what the machine says.
void put_file(const fs::path& path, const std::string& text);

// What helps where a file or folder cannot be written.
std::string help_of(const std::error_code& error, const fs::path& path);

}  // namespace psim::cli

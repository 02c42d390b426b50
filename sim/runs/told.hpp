// The message for an exception that no command has handled.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace psim {

struct Told {
  bool is_users = true;  // the user's mistake; otherwise the fault of psim or the machine
  std::string text = {};
};

// The message for the current exception.
Told told();

// Whether the machine causes the error, for example a full or broken disk, and not the name of the file.
bool is_machines(const std::error_code& error);

// The hint for a file or folder that cannot be written.
std::string help_of(const std::error_code& error, const std::filesystem::path& path);

}  // namespace psim

// What people are told about an exception that nobody has dealt with.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace psim {

struct Told {
  bool is_users = true;  // else psim is at fault, or the machine
  std::string text = {};
};

// Of the exception that is being handled.
Told told();

// Whether the machine is to blame, and not the name of a file: its disk is full or broken.
bool is_machines(const std::error_code& error);

// What helps where a file or folder cannot be written.
std::string help_of(const std::error_code& error, const std::filesystem::path& path);

}  // namespace psim

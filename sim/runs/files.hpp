// Reads and writes files; checks names of files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace psim {

namespace fs = std::filesystem;

// Writes `text` to `path`. If that fails, throws an error with the path.
void write_file(const fs::path& path, const std::string& text);

// Throws InputError if the file does not exist, or is a folder, a device or a pipe.
std::string read_file(const fs::path& path);

// The folder of the file; "." for a name alone.
inline fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_utf8(std::string_view text);

// Whether `text` is a plain file name, not a path that leads out of its folder. `text` may come from an
// untrusted file.
bool is_name(std::string_view text);

}  // namespace psim

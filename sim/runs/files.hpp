// Texts as files, and names that are safe to be files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace psim {

namespace fs = std::filesystem;

// Writes `text` to `path`; throws with the path when the disk refuses.
void write_file(const fs::path& path, const std::string& text);

// Throws InputError if there is no such file, or if it is a folder, a device or a pipe.
std::string read_file(const fs::path& path);

// The folder that it is in: "." for a name alone.
inline fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_utf8(std::string_view text);

// Whether `text`, which may stand in a file of somebody else's, is the name of a file in a folder that is
// known, and no path to another one.
bool is_name(std::string_view text);

}  // namespace psim

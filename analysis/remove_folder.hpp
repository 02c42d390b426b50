// The only code by which psim removes folders. It never follows a link and never leaves the file system.
#pragma once

#include <filesystem>
#include <functional>
#include <system_error>

namespace psim::analysis {

// Whether a file may be removed, by its `path` within the folder and its type.
using MayGo = std::function<bool(const std::filesystem::path& path, std::filesystem::file_type type)>;

// Removes the files of `folder` that may go, then empty folders in it, and then the folder if it is empty.
// Returns why a file that may go still exists; no error if other files keep the folder.
std::error_code remove_folder(const std::filesystem::path& folder, const MayGo& may_go);

// Removes `folder` if it is an empty folder, not a link to one. Returns why it still exists.
std::error_code remove_empty(const std::filesystem::path& folder);

}  // namespace psim::analysis

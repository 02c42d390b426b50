// The one function by which psim removes folders. It never follows a link and never leaves the file system.
#pragma once

#include <filesystem>
#include <functional>
#include <system_error>

namespace psim::analysis {

// Whether a file may be removed, by its `path` within the folder and its type.
using MayGo = std::function<bool(const std::filesystem::path& path, std::filesystem::file_type type)>;

// Removes the files of `folder` that may go, folders in it whose own content is gone, and then the folder, if
// it is empty. Returns why something of these is still there; nothing where other files keep the folder.
std::error_code remove_folder(const std::filesystem::path& folder, const MayGo& may_go);

// Removes `folder` if it is a folder, no link to one, and empty. Returns why it is still there.
std::error_code remove_empty(const std::filesystem::path& folder);

}  // namespace psim::analysis

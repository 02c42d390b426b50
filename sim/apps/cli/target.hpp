// Writes files that the user names, and decides which files psim may replace.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/runs/answer.hpp"

namespace psim::cli {

// Throws Refused if `path` is not a file (but a folder, a device or a pipe), or is a link to nothing, or if
// psim cannot write a file next to it. Does not open `path`, because opening a pipe may block for ever.
// Throws std::filesystem::filesystem_error if the machine causes the error.
void check_is_file(const fs::path& path);

// Throws Refused if psim cannot write to `folder`, or cannot make it. Tests this by making a folder inside
// and removing it again. `option`: the option that names `folder`.
void check_can_make(const fs::path& folder, std::string_view option);

// The run or study whose folder contains `path` at any depth; empty: none.
fs::path owner_of(const fs::path& path);

// Throws Refused if `path` is in the folder of a run or study, because psim removes and archives only files
// that it knows there. `example`: a better place.
void check_outside(const fs::path& path, std::string_view example);

// Adds the file of `option`. Throws Refused if another of the options names it, too.
void check_distinct(const fs::path& path, const char* option, std::map<fs::path, const char*>& options);

// Where the link `path` leads; `path` itself if it is no link.
fs::path end_of_link(const fs::path& path);

// Replaces the file at `path` in one step, or writes nothing. Throws Refused with the system's message, or
// std::filesystem::filesystem_error if the machine causes the error.
void put_file(const fs::path& path, const std::string& text);

// Throws Refused if the file at `path` exists and does not begin with one of `marks`: then psim did not write
// it. `by`: the command that writes such files.
void check_own(const fs::path& path, const std::vector<std::string>& marks, std::string_view by);

}  // namespace psim::cli

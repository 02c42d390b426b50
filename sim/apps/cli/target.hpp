// Files that the user names for psim to write: what may be replaced there, and how.
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/apps/cli/command.hpp"
#include "sim/runs/told.hpp"

namespace psim::cli {

// Throws Refused where something is that is no file (a folder, a device, a pipe), or a link to nothing, which
// is not opened: that of a pipe may never come to an end; and where no file can be written: that is tried
// beside it. Throws std::filesystem::filesystem_error where the machine is to blame.
void check_is_file(const fs::path& path);

// Throws Refused where nothing can be written to `folder`, which is there or is made when there is something
// to write: tried by making a folder in it, which is removed again. `option`: that names it.
void check_can_make(const fs::path& folder, std::string_view option);

// The run or study whose folder `path` is in, at whatever depth; empty where there is none.
fs::path owner_of(const fs::path& path);

// Throws Refused where `path` is among the files of a run or study: psim removes and archives only the files
// that it knows there. `example`: what to name instead.
void check_outside(const fs::path& path, std::string_view example);

// A file beside `target` that takes its place when it is complete. What killed processes of this machine have
// left under such names is removed.
class FreshFile {
 public:
  // A link stays, and what it leads to is replaced.
  explicit FreshFile(const fs::path& target);
  ~FreshFile();  // removes it, unless it has taken its place
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  const fs::path& path() const { return path_; }
  // Throws std::filesystem::filesystem_error.
  void move_into_place();

 private:
  fs::path target_, path_;
};

// Replaces what is at `path` in one step, or writes nothing. Throws Refused, and says what the machine says;
// throws std::filesystem::filesystem_error where the machine is to blame.
void put_file(const fs::path& path, const std::string& text);

// Throws Refused where a file is at `path` that does not have one of `marks` at its beginning: it is somebody
// else's. `by`: the command that writes such files.
void check_own(const fs::path& path, const std::vector<std::string>& marks, std::string_view by);

}  // namespace psim::cli

// A temporary folder of this process.
#pragma once

#include <string>

#include "sim/runs/open_file.hpp"

namespace psim {

class ScratchFolder {
 public:
  // "<name>-XXXXXX" in TMPDIR, or /tmp; `name` begins with "psim-". First removes leftovers of killed psim
  // processes there. Throws Refused if that folder does not exist or is not writable.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  OpenFile lock_;
};

// Removes the temporary folders of killed processes.
void sweep_scratch();

// Removes a folder in a temporary folder, with all its contents.
void remove_scratch(const fs::path& folder);

}  // namespace psim

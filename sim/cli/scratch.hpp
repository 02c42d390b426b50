// A temporary folder of this process.
#pragma once

#include <string>

#include "sim/cli/command.hpp"

namespace psim::cli {

class ScratchFolder {
 public:
  // "<name>-XXXXXX" in TMPDIR, or /tmp. Removes what killed processes have left there under this name.
  // Throws Refused when there is no such place.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  int lock_ = -1;
};

}  // namespace psim::cli

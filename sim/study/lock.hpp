// Locks of a study's folder. Any number of processes may work there. Meanwhile no process may rename or
// remove it.
#pragma once

#include <optional>

#include "sim/runs/open_file.hpp"

namespace psim::study {

class StudyLock {
 public:
  // Shares the folder with other processes that work on it. Makes the folder if it does not exist.
  static StudyLock to_work(const fs::path& dir);
  // Excludes all other processes. Returns nothing while another process works there. Without locks in the
  // file system it always succeeds.
  static std::optional<StudyLock> alone(const fs::path& dir);

 private:
  explicit StudyLock(OpenFile file) : file_(std::move(file)) {}
  OpenFile file_;
};

}  // namespace psim::study

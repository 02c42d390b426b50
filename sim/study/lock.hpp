// Who works in a study's folder. Any number of processes may, and none may rename or remove it meanwhile.
#pragma once

#include <optional>

#include "sim/runs/open_file.hpp"

namespace psim::study {

class StudyLock {
 public:
  // Shares the folder with others that work on it; makes it where there is none.
  static StudyLock to_work(const fs::path& dir);
  // Keeps everybody out; nothing while somebody works there. A file system without locks cannot tell.
  static std::optional<StudyLock> alone(const fs::path& dir);

 private:
  explicit StudyLock(OpenFile file) : file_(std::move(file)) {}
  OpenFile file_;
};

}  // namespace psim::study

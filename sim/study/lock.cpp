#include "sim/study/lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace psim::study {
namespace {

int opened(const fs::path& dir) { return open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

// Whether the open folder is still the one at this path.
bool is_at(int file, const fs::path& dir) {
  struct stat locked {
  }, there{};
  return fstat(file, &locked) == 0 && stat(dir.c_str(), &there) == 0 && locked.st_ino == there.st_ino &&
         locked.st_dev == there.st_dev;
}

}  // namespace

StudyLock StudyLock::to_work(const fs::path& dir) {
  for (;;) {
    fs::create_directories(dir);
    const int file = opened(dir);
    if (file < 0) {
      if (errno == ENOENT) continue;  // somebody has removed it at once
      throw fs::filesystem_error("open", dir, std::error_code(errno, std::generic_category()));
    }
    StudyLock lock(file);
    while (flock(file, LOCK_SH) != 0 && errno == EINTR) {
    }
    if (is_at(file, dir)) return lock;
  }
}

std::optional<StudyLock> StudyLock::alone(const fs::path& dir) {
  const int file = opened(dir);
  if (file < 0) return std::nullopt;
  StudyLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  return lock;
}

StudyLock::~StudyLock() {
  if (file_ >= 0) close(file_);
}

StudyLock::StudyLock(StudyLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

}  // namespace psim::study

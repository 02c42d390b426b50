#include "sim/study/lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace psim::study {
namespace {

OpenFile opened(const fs::path& dir) {
  return OpenFile(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Whether the open folder is still the one at this path.
bool is_at(const OpenFile& file, const fs::path& dir) {
  struct stat locked {
  }, there{};
  return fstat(file.number(), &locked) == 0 && stat(dir.c_str(), &there) == 0 &&
         locked.st_ino == there.st_ino && locked.st_dev == there.st_dev;
}

}  // namespace

StudyLock StudyLock::to_work(const fs::path& dir) {
  for (;;) {
    fs::create_directories(dir);
    OpenFile file = opened(dir);
    if (!file && errno == ENOENT) continue;  // another process has just removed it
    if (!file) throw_errno("open", dir);
    while (flock(file.number(), LOCK_SH) != 0 && errno == EINTR) {
    }
    if (is_at(file, dir)) return StudyLock(std::move(file));
  }
}

std::optional<StudyLock> StudyLock::alone(const fs::path& dir) {
  OpenFile file = opened(dir);
  if (!file) return std::nullopt;
  if (flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return std::nullopt;
  return StudyLock(std::move(file));
}

}  // namespace psim::study

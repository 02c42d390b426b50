#include "sim/cli/scratch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sim/cli/run_folder.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

// An empty file in every folder of this kind, by which it is known as psim's.
constexpr const char* mark = ".psim-scratch";

void sweep(const fs::path& parent, const std::string& prefix) {
  std::error_code ignored;  // other users' folders stay
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() == prefix.size() + 6 && name.starts_with(prefix) &&
        fs::exists(entry.path() / mark, ignored))
      left.push_back(entry.path());
  }
  for (const fs::path& folder : left) {
    const int lock = lock_folder(folder);
    if (lock < 0) continue;
    fs::remove_all(folder, ignored);
    close(lock);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& name) {
  std::error_code ignored;
  const char* given = std::getenv("TMPDIR");
  const fs::path parent = given != nullptr && *given != '\0' ? given : "/tmp";
  if (!fs::is_directory(parent, ignored))
    throw Refused(fmt::format("TMPDIR is {}: there is no such folder", parent.string()),
                  "make it, or name another one");
  sweep(parent, name + "-");
  while (lock_ < 0) {
    std::string path = (parent / (name + "-XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr)
      throw Refused(fmt::format("no folder can be made in {}: {}", parent.string(), std::strerror(errno)),
                    "let TMPDIR name one that you may write to");
    path_ = path;
    lock_ = lock_folder(path_);
    const int file = open((path_ / mark).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // the next one sweeps it up
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace psim::cli

#include "sim/cli/scratch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sim/cli/run_folder.hpp"

namespace psim::cli {
namespace {

void sweep(const fs::path& parent, const std::string& prefix) {
  std::error_code ignored;  // other users' folders stay
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.size() == prefix.size() + 6 && name.starts_with(prefix)) left.push_back(entry.path());
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
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error)
    throw Refused(fmt::format("TMPDIR is {}: there is no such folder", std::getenv("TMPDIR")),
                  "make it, or name another one");
  sweep(parent, name + "-");
  while (lock_ < 0) {
    std::string path = (parent / (name + "-XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr)
      throw Refused(fmt::format("no folder can be made in {}: {}", parent.string(), std::strerror(errno)),
                    "let TMPDIR name one that you may write to");
    path_ = path;
    lock_ = lock_folder(path_);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // the next one sweeps it up
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace psim::cli

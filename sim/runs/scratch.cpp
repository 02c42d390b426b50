#include "sim/runs/scratch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "analysis/remove_folder.hpp"
#include "sim/runs/refused.hpp"
#include "sim/runs/run_folder.hpp"

namespace psim {
namespace {

// An empty file in every such folder. It marks the folder as psim's.
constexpr const char* mark = ".psim-scratch";

fs::path scratch_parent() {
  const char* given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/tmp";
}

// "psim-COMMAND-XXXXXX", as mkdtemp makes it.
bool is_scratch_name(std::string_view name) {
  constexpr std::string_view begin = "psim-";
  constexpr std::size_t drawn = 6;
  if (!name.starts_with(begin) || name.size() <= begin.size() + drawn + 1) return false;
  const std::string_view tail = name.substr(name.size() - drawn);
  return name[name.size() - drawn - 1] == '-' &&
         std::ranges::all_of(tail, [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool anything(const fs::path&, fs::file_type) { return true; }

// Whether psim made the folder. An empty folder may belong to another program that is about to use it.
bool is_scratch(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(folder / mark, ignored));
}

}  // namespace

void sweep_scratch() {
  std::error_code ignored;  // folders of other users stay
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch_parent(), ignored)) {
    if (is_scratch_name(entry.path().filename().string())) left.push_back(entry.path());
  }
  for (const fs::path& folder : left) {
    const OpenFile lock = lock_folder(folder);
    if (lock && is_scratch(folder)) analysis::remove_folder(folder, anything);
  }
}

ScratchFolder::ScratchFolder(const std::string& name) {
  std::error_code ignored;
  const fs::path parent = scratch_parent();
  if (!fs::is_directory(parent, ignored))
    throw Refused(fmt::format("TMPDIR is {}, which does not exist", parent.string()),
                  "make this folder, or set TMPDIR to another one");
  sweep_scratch();
  while (!lock_) {
    std::string path = (parent / (name + "-XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr)
      throw Refused(fmt::format("cannot make a folder in {}: {}", parent.string(), std::strerror(errno)),
                    "set TMPDIR to a folder that you may write to");
    path_ = path;
    lock_ = lock_folder(path_);
    const OpenFile marked(open((path_ / mark).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
}

ScratchFolder::~ScratchFolder() {
  remove_scratch(path_);  // the next ScratchFolder removes any leftover
}

void remove_scratch(const fs::path& folder) { analysis::remove_folder(folder, anything); }

}  // namespace psim

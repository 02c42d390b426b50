#include "analysis/remove_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace psim::analysis {
namespace fs = std::filesystem;
namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }

fs::file_type type_of(mode_t mode) {
  if (S_ISREG(mode)) return fs::file_type::regular;
  if (S_ISDIR(mode)) return fs::file_type::directory;
  return S_ISLNK(mode) ? fs::file_type::symlink : fs::file_type::unknown;
}

// Works relative to open folders, so it never follows a link that replaces a folder meanwhile.
class Removal {
 public:
  explicit Removal(const MayGo& may_go) : may_go_(may_go) {}

  void empty(int folder, const fs::path& within) {
    struct stat here {};
    if (fstat(folder, &here) != 0) return note();
    for (const std::string& name : names_in(folder)) {
      struct stat facts {};
      if (fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) note();  // another process removes the same files
        continue;
      }
      const bool is_folder = S_ISDIR(facts.st_mode);
      if (is_folder && facts.st_dev != here.st_dev) continue;  // another file system is mounted there
      if (!may_go_(within / name, type_of(facts.st_mode))) continue;
      if (is_folder && !emptied(folder, name, within / name)) continue;
      remove(folder, name, is_folder);
    }
  }
  void remove(int folder, const std::string& name, bool is_folder) {
    if (unlinkat(folder, name.c_str(), is_folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT) return;
    if (!is_folder || (errno != ENOTEMPTY && errno != EEXIST)) note();
  }
  std::error_code error() const { return error_; }

 private:
  void note() {
    if (!error_) error_ = last_error();
  }
  bool emptied(int folder, const std::string& name, const fs::path& within) {
    const int inner = openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) return note(), false;
    empty(inner, within);
    close(inner);
    return true;
  }
  std::vector<std::string> names_in(int folder) {
    std::vector<std::string> names;
    DIR* entries = fdopendir(dup(folder));
    if (entries == nullptr) return note(), names;
    while (const dirent* entry = readdir(entries)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    closedir(entries);
    return names;
  }

  const MayGo& may_go_;
  std::error_code error_;
};

}  // namespace

std::error_code remove_folder(const fs::path& folder, const MayGo& may_go) {
  const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  const int outer = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (outer < 0) return last_error();
  const int inner = openat(outer, folder.filename().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner < 0) {
    const std::error_code error = last_error();
    close(outer);
    return error;
  }
  Removal removal(may_go);
  removal.empty(inner, {});
  close(inner);
  removal.remove(outer, folder.filename(), true);
  close(outer);
  return removal.error();
}

std::error_code remove_empty(const fs::path& folder) {
  return rmdir(folder.c_str()) == 0 ? std::error_code() : last_error();
}

}  // namespace psim::analysis

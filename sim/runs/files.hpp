// Files and folders: reading and writing, names, temporary folders, and the scenarios that come with psim.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace psim {

namespace fs = std::filesystem;

// Writes `text` to `path`. If that fails, throws an error with the path.
void write_file(const fs::path& path, const std::string& text);

// A temporary file next to `target`, "TARGET.new-HOST-PROCESS". It replaces `target` when it is complete. The
// constructor removes such files of killed processes of this machine.
class FreshFile {
 public:
  explicit FreshFile(fs::path target);
  ~FreshFile();  // removes the file, unless it has replaced the target
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  const fs::path& path() const { return path_; }
  // Throws std::filesystem::filesystem_error.
  void move_into_place();

 private:
  fs::path target_, path_;
};

// Replaces the file in one step, or not at all. Throws as write_file.
void replace_file(const fs::path& path, const std::string& text);

// Throws InputError if the file does not exist, or is a folder, a device or a pipe.
std::string read_file(const fs::path& path);

// The folder of the file; "." for a name alone.
inline fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_utf8(std::string_view text);

// Whether `text` is a plain file name, not a path that leads out of its folder. `text` may come from an
// untrusted file.
bool is_name(std::string_view text);

// An open file or folder. The destructor closes it.
class OpenFile {
 public:
  explicit OpenFile(int number = -1) : number_(number) {}  // negative: not open
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

// Writes all of `text` to the file. false: this failed, and errno says why.
bool write_all(const OpenFile& file, std::string_view text);

// Throws std::filesystem::filesystem_error with errno. `what`: the failed operation, such as "open".
[[noreturn]] void throw_errno(const char* what, const fs::path& path);

// A temporary folder of this process.
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

// The scenarios that come with psim, and the meaning of a scenario's name.

// Their folder: next to the program, in its source, or in the current folder.
fs::path scenario_folder();

// The scenarios in that folder, by name.
std::vector<fs::path> scenarios();

// The file that `name` means: the file itself, the file with .toml, or the scenario of this name that comes
// with psim. If none exists, returns a path unchanged; for a plain name throws Refused with the most similar
// name.
std::string find_scenario(const std::string& name);

// "stragglers" for scenarios/stragglers.toml.
std::string scenario_name(const std::string& path);

}  // namespace psim

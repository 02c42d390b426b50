#include "sim/runs/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "analysis/run_files.hpp"
#include "model/base/input.hpp"
#include "model/base/unicode.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {

void write_file(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw fs::filesystem_error("write", path,
                               std::error_code(errno == 0 ? EIO : errno, std::generic_category()));
}

namespace {

// Removes files "NAME.new-HOST-PROCESS" of this machine whose process has ended.
void sweep_fresh(const fs::path& target) {
  const std::string name = target.filename().string() + std::string(analysis::unfinished);
  std::error_code ignored;  // the next sweep can remove it
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent_of(target), ignored)) {
    const std::string other = entry.path().filename().string();
    if (!other.starts_with(name) || !analysis::is_unfinished(other)) continue;
    const auto process = number_in<pid_t>(other.substr(other.rfind('-') + 1));
    const bool is_dead = process && kill(*process, 0) != 0 && errno == ESRCH;
    if (is_dead && fs::is_regular_file(entry.symlink_status(ignored))) left.push_back(entry.path());
  }
  for (const fs::path& file : left) fs::remove(file, ignored);
}

}  // namespace

FreshFile::FreshFile(fs::path target) : target_(std::move(target)) {
  path_ = fmt::format("{}{}{}", target_.string(), analysis::unfinished, process_name());
  std::error_code none;
  fs::remove(path_, none);  // a killed process may have had the same number
  sweep_fresh(target_);
}

FreshFile::~FreshFile() {
  std::error_code none;
  if (!path_.empty()) fs::remove(path_, none);
}

void FreshFile::move_into_place() {
  fs::rename(path_, target_);
  path_.clear();
}

void replace_file(const fs::path& path, const std::string& text) {
  FreshFile fresh(path);
  write_file(fresh.path(), text);
  fresh.move_into_place();
}

std::string read_file(const fs::path& path) { return read_input(path); }

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_code_point(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool is_name(std::string_view text) {
  constexpr std::size_t longest = 200;  // bytes; file systems allow 255, and psim appends to names
  const bool is_control = std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return !text.empty() && text.size() <= longest && text.find('/') == std::string_view::npos && text != "." &&
         text != ".." && !is_control && is_utf8(text);
}

OpenFile::~OpenFile() {
  if (number_ >= 0) close(number_);
}

bool write_all(const OpenFile& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file.number(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void throw_errno(const char* what, const fs::path& path) {
  throw fs::filesystem_error(what, path, std::error_code(errno, std::generic_category()));
}

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

namespace {

std::vector<fs::path> scenarios_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;  // the folder may be missing
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

fs::path scenario_folder() {
  for (fs::path dir = fs::read_symlink("/proc/self/exe").parent_path(); dir != dir.root_path();
       dir = dir.parent_path()) {
    for (const char* place : {"scenarios", "share/psim/scenarios"}) {  // in a checkout; after installation
      if (fs::exists(dir / place / "quickstart.toml")) return dir / place;
    }
  }
  return "scenarios";
}

std::vector<fs::path> scenarios() { return scenarios_in(scenario_folder()); }

std::string find_scenario(const std::string& name) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  const std::string file = name.ends_with(".toml") ? name : name + ".toml";
  std::vector<fs::path> places{file};
  if (name.find('/') == std::string::npos)
    places.insert(places.end(), {"scenarios" / fs::path(file), scenario_folder() / file});
  const auto found =
      std::ranges::find_if(places, [&](const fs::path& path) { return fs::is_regular_file(path, error); });
  if (found != places.end()) return found->string();
  if (name.find('/') != std::string::npos) return name;
  std::vector<std::string> names;
  for (const fs::path& folder : {fs::path("."), scenario_folder()}) {
    for (const fs::path& one : scenarios_in(folder)) names.push_back(one.stem().string());
  }
  const std::string near = nearest(fs::path(file).stem().string(), names);
  throw Refused(fmt::format("unknown scenario `{}`", name),
                near.empty() ? "`psim list` shows the scenarios that come with psim; you may also name a file"
                             : fmt::format("did you mean `{}`?", near));
}

std::string scenario_name(const std::string& path) { return fs::path(path).stem().string(); }

}  // namespace psim

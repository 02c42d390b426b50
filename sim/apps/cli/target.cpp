#include "sim/apps/cli/target.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "analysis/run_files.hpp"
#include "model/base/input.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

std::string_view kind_of(const fs::file_status& status) {
  switch (status.type()) {
    case fs::file_type::directory: return "a folder";
    case fs::file_type::character:
    case fs::file_type::block: return "a device";
    case fs::file_type::fifo: return "a pipe";
    case fs::file_type::socket: return "a socket";
    default: return "not a file";
  }
}

// Other programs use the name manifest.json, too.
bool is_psims_manifest(const fs::path& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  try {
    return beginning_of(path, 256).find("\"psim.") != std::string::npos;
  } catch (const InputError&) {
    return false;
  }
}

// Throws with the system's error of an attempt to write `path`.
[[noreturn]] void throw_not_written(const fs::path& path, const std::error_code& error) {
  if (is_machines(error)) throw fs::filesystem_error("write", path, error);
  throw Refused(fmt::format("cannot write {}: {}", path.string(), error.message()), help_of(error, path));
}

void check_what_is_there(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status)) throw Refused(fmt::format("{} is a folder", path.string()), "name a file");
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Refused(fmt::format("{} is {}", path.string(), kind_of(status)),
                  "name a file: psim replaces only files");
  if (!fs::exists(status) && fs::is_symlink(fs::symlink_status(path, none)))
    throw Refused(fmt::format("{} is a link to {}, which does not exist", path.string(),
                              fs::read_symlink(path).string()),
                  "name the file itself, or remove the link");
}

}  // namespace

fs::path end_of_link(const fs::path& path) {
  std::error_code none;
  return fs::is_symlink(fs::symlink_status(path, none)) ? fs::canonical(path) : path;
}

void check_is_file(const fs::path& path) {
  check_what_is_there(path);
  const FreshFile trial(end_of_link(path));
  const OpenFile file(open(trial.path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file) throw_not_written(path, std::error_code(errno, std::generic_category()));
}

void check_can_make(const fs::path& out, std::string_view option) {
  std::error_code error, ignored;
  const fs::path folder = fs::absolute(out).lexically_normal();
  fs::path there = folder;
  const auto stands = [&](const fs::path& path) { return fs::exists(fs::symlink_status(path, ignored)); };
  while (!stands(there) && there != there.root_path()) there = there.parent_path();
  if (!fs::is_directory(there, ignored))
    throw Refused(fmt::format("{} {}: {} is not a folder", option, out.string(), there.string()),
                  "name another folder");
  // Tests an existing folder, because another process may be about to make the requested folder.
  const fs::path trial = there / fmt::format(".new-{}", process_name());
  fs::create_directory(trial, error);
  analysis::remove_empty(trial);
  if (error && is_machines(error)) throw fs::filesystem_error("make", folder, error);
  if (error)
    throw Refused(fmt::format("{} {}: cannot make a folder in {}: {}", option, out.string(), there.string(),
                              error.message()),
                  "name a folder that you may write to");
}

fs::path owner_of(const fs::path& path) {
  std::error_code none;
  const fs::path real = fs::weakly_canonical(fs::absolute(path), none);
  for (fs::path folder = real; folder.has_relative_path(); folder = folder.parent_path()) {
    if (runs_shelf().holds(folder) || is_psims_manifest(folder / "manifest.json")) return folder;
  }
  return {};
}

void check_outside(const fs::path& path, std::string_view example) {
  const fs::path owner = owner_of(path);
  if (!owner.empty())
    throw Refused(fmt::format("{} would be inside the folder of a run or study, `{}`", path.string(),
                              owner.filename().string()),
                  fmt::format("write it elsewhere, such as {}", example));
}

void check_distinct(const fs::path& path, const char* option, std::map<fs::path, const char*>& options) {
  const auto [first, is_new] = options.try_emplace(fs::weakly_canonical(fs::absolute(path)), option);
  if (!is_new)
    throw Refused(fmt::format("{} and {} name the same file, {}", first->second, option, path.string()),
                  "name two files");
}

void check_own(const fs::path& path, const std::vector<std::string>& marks, std::string_view by) {
  check_is_file(path);
  std::error_code none;
  if (!fs::exists(path, none)) return;
  const std::string begin = beginning_of(path, 1024);
  const auto has = [&](const std::string& mark) { return begin.find(mark) != std::string::npos; };
  if (!begin.empty() && std::ranges::none_of(marks, has))
    throw Refused(fmt::format("{} exists and was not written by {}", path.string(), by),
                  "name another file; psim replaces only its own files");
}

void put_file(const fs::path& path, const std::string& text) {
  check_what_is_there(path);
  try {
    replace_file(end_of_link(path), text);
  } catch (const fs::filesystem_error& error) {
    throw_not_written(path, error.code());
  }
}

}  // namespace psim::cli

#include "sim/runs/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "analysis/run_files.hpp"
#include "sim/record/run_file.hpp"
#include "sim/record/summary.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"

namespace psim {
namespace {

constexpr const char* between = ".psim-partial-";

constexpr const char* name_another = "name another folder; psim replaces only its own runs";

// The inode number of `path`; 0: nothing is there.
std::uint64_t number_of(const fs::path& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

void sync(const fs::path& path) {
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) fsync(file.number());  // some file systems do not support it
}

bool is_at_or_above(const fs::path& dir, const fs::path& other) {
  return std::ranges::mismatch(dir, other).in1 == dir.end();
}

}  // namespace

// "NAME.psim-partial-PROCESS-ATTEMPT": the name of an UnfinishedRun.
bool is_partial_name(const std::string& name) {
  const std::size_t at = name.rfind(between);
  if (at == std::string::npos) return false;
  const std::string_view rest = std::string_view(name).substr(at + std::string_view(between).size());
  const std::size_t dash = rest.find('-');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && is_number(rest.substr(0, dash)) &&
         is_number(rest.substr(dash + 1));
}

// Keeps folders with files that do not belong to a run. Also keeps complete runs (checksums are written
// last), unless a process was moving the run to or from the place where this process writes a run now.
void sweep_partial_runs(const fs::path& parent, const fs::path& to) {
  std::error_code ignored;  // the next sweep can remove it
  const std::string own = to.filename().string() + between;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (is_partial_name(entry.path().filename().string())) left.push_back(entry.path());
  }
  for (const fs::path& folder : left) {
    const OpenFile lock = lock_folder(folder);
    if (!lock) continue;
    const std::string name = folder.filename().string();
    const bool is_own = !to.empty() && name.rfind(between) + std::string_view(between).size() == own.size() &&
                        name.starts_with(own);
    try {
      const analysis::Contents contents = analysis::contents_of(folder);
      if (contents.foreign.empty() && (!contents.complete || is_own)) analysis::remove_run(folder);
    } catch (const fs::filesystem_error&) {  // does not concern this run
    }
  }
}

OpenFile lock_folder(const fs::path& folder) {
  OpenFile file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat locked {};
  // Between open and flock another process may have removed the folder as a leftover.
  const bool is_held = file && flock(file.number(), LOCK_EX | LOCK_NB) == 0 &&
                       fstat(file.number(), &locked) == 0 && locked.st_ino == number_of(folder);
  return is_held ? std::move(file) : OpenFile();
}

FolderWatch::FolderWatch(fs::path dir)
    : dir_(std::move(dir)),
      file_(open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      number_(number_of(dir_)) {}

bool FolderWatch::is_still_there() const { return number_of(dir_) == number_; }

fs::path folder_named(const std::string& out) {
  std::string_view name = out;
  while (name.size() > 1 && (name.ends_with('/') || name.ends_with("/."))) name.remove_suffix(1);
  return name;
}

void check_target(const fs::path& dir) {
  if (is_partial_name(dir.filename().string()))
    throw Refused(fmt::format("{} has the name of an unfinished run", dir.string()),
                  "name another folder; psim removes folders with such names");
  const fs::file_status status = fs::symlink_status(dir);
  if (!fs::exists(status)) return;
  if (fs::is_symlink(status))
    throw Refused(fmt::format("{} is a link, to {}", dir.string(), fs::read_symlink(dir).string()),
                  "name the folder itself, or remove the link");
  if (!fs::is_directory(status)) throw Refused(fmt::format("{} is a file", dir.string()), name_another);
  const fs::path real = fs::canonical(dir);
  if (is_at_or_above(real, fs::current_path()))
    throw Refused(fmt::format("{} is the current folder, or contains it", dir.string()), name_another);
  struct stat inside {
  }, outside{};
  if (stat(real.c_str(), &inside) != 0 || stat(real.parent_path().c_str(), &outside) != 0)
    throw_errno("stat", dir);
  if (inside.st_dev != outside.st_dev)
    throw Refused(fmt::format("a file system is mounted at {}", dir.string()),
                  fmt::format("name a folder inside it: {}", (dir / "run").string()));
  const auto contents = look_into(dir, [&] { return analysis::contents_of(dir); });
  if (!contents.foreign.empty())
    throw Refused(fmt::format("{} holds `{}`, which psim did not write", dir.string(), contents.foreign),
                  name_another);
  if (!contents.empty && !contents.marked)
    throw Refused(fmt::format("{} does not look like a run", dir.string()), name_another);
}

Json summary_in(const fs::path& dir) {
  const fs::path file = dir / "summary.json";
  Json summary = analysis::json_file(file);
  if (!summary.is_object()) throw DamagedRun(fmt::format("{} is not the summary of a run", file.string()));
  for (const char* key : {"build", "scenario_hash"}) {
    if (summary.contains(key) && !summary[key].is_string())
      throw DamagedRun(fmt::format("{}: `{}` is not a text", file.string(), key));
  }
  return summary;
}

namespace {

Finished look_for_run(const fs::path& dir, const std::string& hash, const std::string& trace) try {
  const auto again = [](std::string why) { return Finished{.summary = {}, .why_not = std::move(why)}; };
  if (!fs::is_directory(dir) || analysis::contents_of(dir).empty) return {};
  if (std::string broken = analysis::broken_seal(dir); !broken.empty()) return again(std::move(broken));
  Json summary = summary_in(dir);
  if (summary.value("scenario_hash", "") != hash) return again("it is another scenario's run");
  if (summary.value("build", "") != build_id()) return again("another build of psim made it");
  const std::string recorded = recorded_meta(dir / "run.db")["trace"];
  if (trace_level(recorded) < trace_level(trace))
    return again(fmt::format("it was recorded with --trace {}", recorded));
  return {.summary = std::move(summary), .why_not = {}};
} catch (const UserError& damage) {
  return {.summary = {}, .why_not = damage.what()};
}

}  // namespace

Finished finished_run(const fs::path& dir, const std::string& hash, const std::string& trace) {
  return look_into(dir, [&] { return look_for_run(dir, hash, trace); });
}

UnfinishedRun::UnfinishedRun(const fs::path& dir) : dir_(dir) {
  check_target(dir_);
  fs::create_directories(parent_of(dir_));
  sweep_partial_runs(parent_of(dir_), dir_);
  sweep_scratch();
  const InterruptsHeld held;  // until the handler knows what to remove
  for (int attempt = 0; !lock_; ++attempt) {
    path_ = fmt::format("{}{}{}-{}", dir_.string(), between, getpid(), attempt);
    if (mkdir(path_.c_str(), 0777) == 0) lock_ = lock_folder(path_);
    else if (errno != EEXIST) throw_errno("mkdir", path_);
  }
  at_interrupt_.emplace(path_.string(),
                        "interrupted: nothing was written; repeat the command to start again");
}

UnfinishedRun::~UnfinishedRun() {
  const InterruptsHeld held;  // until everything is removed
  at_interrupt_.reset();
  analysis::remove_run(path_);
}

void UnfinishedRun::move_into_place() {
  // Succeeds if `dir_` does not exist or is empty.
  while (std::rename(path_.c_str(), dir_.c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) throw_errno("rename", dir_);
    check_target(dir_);  // another process may have written there meanwhile
    if (replace()) return;
  }
}

// Afterwards the old run is in the temporary folder, to be removed, or is gone. False if there was nothing to
// replace.
bool UnfinishedRun::replace() {
  // The new run is on the disk before the old run goes.
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) sync(entry.path());
  sync(path_);
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, dir_.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno == ENOENT) return false;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) throw_errno("rename", dir_);
    // The file system cannot swap. If psim is killed in between, both runs survive under other names.
    const fs::path old = fmt::format("{}.psim-replaced-{}", dir_.string(), getpid());
    fs::rename(dir_, old);
    fs::rename(path_, dir_);
    analysis::remove_run(old);
  }
  sync(parent_of(dir_));
  return true;
}

void set_latest(const fs::path& given) {
  std::error_code ignored;                             // the link is optional
  const fs::path dir = fs::canonical(given, ignored);  // `given` may be the link itself
  if (ignored) return;
  const auto holds = [&](const char* folder) { return fs::equivalent(parent_of(dir), folder, ignored); };
  if (holds("runs") || holds("studies")) point_latest(dir);
}

void point_latest(const fs::path& dir) {
  std::error_code ignored;  // the link is optional
  const fs::path link = parent_of(dir) / fmt::format(".latest-{}", getpid());
  fs::create_directory_symlink(dir.filename(), link, ignored);
  fs::rename(link, parent_of(dir) / "latest", ignored);
  fs::remove(link, ignored);
}

}  // namespace psim

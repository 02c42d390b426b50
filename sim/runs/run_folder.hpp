// Writes a run to its folder. Whatever happens, the folder holds either the complete old run or the complete
// new one.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"

namespace psim {

// "out" for "out/" and "out/.": a shell may complete a name in this way.
fs::path folder_named(const std::string& out);

// Locks the folder. The result is not open if another process has the lock or the folder is gone.
OpenFile lock_folder(const fs::path& folder);

// Notices if another folder appears at the same path.
class FolderWatch {
 public:
  explicit FolderWatch(fs::path dir);
  bool is_still_there() const;

 private:
  fs::path dir_;
  OpenFile file_;  // open, so that no other folder gets its inode number
  std::uint64_t number_;
};

// The result of `look` in `dir`. It looks again if another process puts another run there meanwhile.
template <class Look>
auto look_into(const fs::path& dir, Look look) {
  for (;;) {
    const FolderWatch watch(dir);
    try {
      auto found = look();
      if (watch.is_still_there()) return found;
    } catch (const std::exception&) {
      if (watch.is_still_there()) throw;
    }
  }
}

// Whether the name is that of an unfinished run, which psim may remove after its process was killed. No other
// folder may have such a name.
bool is_partial_name(const std::string& name);

// Removes unfinished runs of killed processes from `parent`. It also removes finished runs that a killed
// process was moving to `to` or away from it.
void sweep_partial_runs(const fs::path& parent, const fs::path& to = {});

// Throws Refused unless `dir` does not exist, is empty, or holds a run of psim and nothing else.
void check_target(const fs::path& dir);

// The summary of the run in `dir`. If it has `build` and `scenario_hash`, they are texts. Throws DamagedRun.
Json summary_in(const fs::path& dir);

struct Finished {
  std::optional<Json> summary;
  std::string why_not;  // why the existing run must be computed again
};

// The run with this hash in `dir`, if this build of psim wrote it, its files are unchanged, and it has
// recorded at least `trace`.
Finished finished_run(const fs::path& dir, const std::string& hash, const std::string& trace);

// An unfinished run, in a temporary folder next to `dir`. This process keeps the folder locked while it
// lives, so that other processes do not take the folder for a leftover.
class UnfinishedRun {
 public:
  // Removes leftovers of killed processes next to `dir`. Throws Refused, and
  // std::filesystem::filesystem_error if it cannot write there.
  explicit UnfinishedRun(const fs::path& dir);
  ~UnfinishedRun();
  UnfinishedRun(UnfinishedRun&&) = delete;

  const fs::path& path() const { return path_; }

  // Call it when the run is complete. Replaces the run at `dir` in one step.
  void move_into_place();

 private:
  bool replace();

  fs::path dir_, path_;
  OpenFile lock_;
  std::optional<RemovedAtInterrupt> at_interrupt_;
};

// Points runs/latest or studies/latest to `dir`, if `dir` is in runs/ or studies/.
void set_latest(const fs::path& dir);

// Points the link `latest` next to `dir` to `dir`.
void point_latest(const fs::path& dir);

}  // namespace psim

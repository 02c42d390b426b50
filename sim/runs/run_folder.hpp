// The folder that a run is written to: what may be replaced there, and how, so that whatever happens, either
// the old run or the new one is there in full.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "sim/runs/interrupt.hpp"
#include "sim/runs/open_file.hpp"
#include "sim/runs/outcome.hpp"

namespace psim {

// "out" for "out/" and "out/.", as a shell may complete it.
fs::path folder_named(const std::string& out);

// A lock of the folder; nothing open when another process has it, or the folder is gone.
OpenFile lock_folder(const fs::path& folder);

// Whether a path stays the same folder.
class FolderWatch {
 public:
  explicit FolderWatch(fs::path dir);
  bool is_still_there() const;

 private:
  fs::path dir_;
  OpenFile file_;  // so that no other folder gets its number
  std::uint64_t number_;
};

// What `look` finds in `dir`. It looks again when another process has put another run there meanwhile.
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

// Whether a folder with this name may be removed as what a killed process has left. Nothing else may be
// called so.
bool is_partial_name(const std::string& name);

// Removes what killed processes have left in `parent` of runs that they were writing; and finished runs too
// that were on their way to `to`, or away from it.
void sweep_partial_runs(const fs::path& parent, const fs::path& to = {});

// Throws Refused when a run must not be written to `dir`. It may be where nothing is, into an empty folder,
// and over a run that psim made, with nothing else in its folder.
void check_target(const fs::path& dir);

// The summary of the run in `dir`, with a text for `build` and for `scenario_hash` if it has them. Throws
// DamagedRun.
Json summary_in(const fs::path& dir);

struct Finished {
  std::optional<Json> summary;
  std::string why_not;  // there is a run, but it has to be computed again; says why
};

// The run with this hash in `dir`, if all of it is as this build of psim wrote it, and it has recorded at
// least `trace`.
Finished finished_run(const fs::path& dir, const std::string& hash, const std::string& trace);

// A run that is being written, in a folder of its own beside `dir`. The folder is locked as long as this
// process lives; by that, others see that it is not left over.
class UnfinishedRun {
 public:
  // Removes what killed processes have left beside `dir`. Throws Refused, and
  // std::filesystem::filesystem_error where nothing can be written.
  explicit UnfinishedRun(const fs::path& dir);
  ~UnfinishedRun();
  UnfinishedRun(UnfinishedRun&&) = delete;

  const fs::path& path() const { return path_; }

  // The run is complete. It takes the place of the one that is at `dir`, in one step.
  void move_into_place();

 private:
  bool replace();

  fs::path dir_, path_;
  OpenFile lock_;
  std::optional<RemovedAtInterrupt> at_interrupt_;
};

// Lets runs/latest or studies/latest point to `dir`, if that is in runs/ or studies/.
void set_latest(const fs::path& dir);

// Lets `latest` beside `dir` point to it.
void point_latest(const fs::path& dir);

}  // namespace psim

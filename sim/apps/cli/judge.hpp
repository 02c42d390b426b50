// Runs a scenario in processes of its own and says whether psim did well.
#pragma once

#include <atomic>
#include <string>

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

struct Verdict {
  std::string outcome;  // of a run that ended: "done", "target", "time is up", "stuck"
  std::string failure;  // what kind of failure, without names and numbers; empty: all is well
  std::string detail;   // in full
};

struct Judge {
  fs::path folder;                      // for its files
  double limit = 60;                    // seconds of a processor's time for one process
  const std::atomic<int>& interrupted;  // by this signal, 0: not; then what it says means nothing

  // Throws std::filesystem::filesystem_error where `folder` cannot be written to or has no room left.
  Verdict operator()(const std::string& toml) const;
};

}  // namespace psim::cli

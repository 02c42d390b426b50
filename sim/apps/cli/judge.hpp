// Runs a scenario in separate processes and decides whether psim behaved correctly.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "sim/apps/cli/command.hpp"

namespace psim::cli {

struct Verdict {
  std::string outcome;  // of a finished run: "done", "target", "time is up", "stuck"
  std::string failure;  // the kind of failure, without names and numbers; empty: none
  std::string detail;   // the full text
  // The rare states that a finished run has reached.
  std::vector<std::string> states = {};
};

struct Judge {
  fs::path folder;                      // for temporary files
  double limit = 60;                    // seconds of processor time for each process
  const std::atomic<int>& interrupted;  // the signal, or 0; after a signal the verdict has no meaning

  // Throws std::filesystem::filesystem_error if `folder` is not writable or the disk is full.
  Verdict operator()(const std::string& toml) const;
};

}  // namespace psim::cli

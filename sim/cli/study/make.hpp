// Making those runs of a study that are not there yet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/cli/interrupt.hpp"
#include "sim/cli/study/executor.hpp"
#include "sim/cli/study/journal.hpp"
#include "sim/cli/study/plan.hpp"

namespace psim::cli {

struct MakeOptions {
  fs::path dir;  // of the study
  const Command& command;
  bool is_kept = true;    // what is made stays when psim ends
  bool explains = false;  // the first run of each arm under each condition, where it is short
};

// What becomes of results.
struct ResultStore {
  // Whether a run need not be made; empty: none is there.
  std::function<bool(const PlannedRun&)> has = {};
  std::function<void(const PlannedRun&, const RunAnswer&)> on_result;
};
ResultStore store_in(Journal& journal);

// Makes the runs with these numbers, each scenario once and the longest first, and shows progress on stderr.
// Returns how many were made. Throws Refused, Interrupted, and std::runtime_error when a run fails.
std::size_t make_runs(const MakeOptions& options, Plan& plan, const std::vector<std::size_t>& numbers,
                      const ResultStore& store, const InterruptsHeld& interrupts);

}  // namespace psim::cli

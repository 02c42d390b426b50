// Making those runs of a study that are not there yet.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/runs/interrupt.hpp"
#include "sim/study/executor.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// Whom a study tells how far it is.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void note(const std::string& text) = 0;
  // Between any two steps: so many runs of all are there. `seconds_to_go`: 0 until it can be told.
  virtual void on_progress(std::size_t runs, std::size_t of, double seconds_to_go) = 0;
  virtual void on_end() = 0;
};

struct MakeOptions {
  fs::path dir;  // of the study
  const Request& request;
  Watcher& watcher;
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

// Makes the runs with these numbers, each scenario once and the longest first.
// Returns how many were made. Throws Refused, Interrupted, and std::runtime_error when a run fails.
std::size_t make_runs(const MakeOptions& options, Plan& plan, const std::vector<std::size_t>& numbers,
                      const ResultStore& store, const InterruptsHeld& interrupts);

}  // namespace psim::study

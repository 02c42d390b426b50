// Makes the missing runs of a study.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/runs/interrupt.hpp"
#include "sim/study/executor.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// Receives the progress of a study.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void note(const std::string& text) = 0;
  // `runs` of `of` runs are finished. `seconds_to_go`: 0 while unknown.
  virtual void on_progress(std::size_t runs, std::size_t of, double seconds_to_go) = 0;
  virtual void on_end() = 0;
};

struct MakeOptions {
  fs::path dir;  // of the study
  const Request& request;
  Watcher& watcher;
  bool is_kept = true;    // results stay when psim ends
  bool explains = false;  // the first run of each arm under each condition, if it is short
};

// Where results go.
struct ResultStore {
  // Whether the result of a run exists; empty function: no result exists.
  std::function<bool(const PlannedRun&)> has = {};
  std::function<void(const PlannedRun&, const RunAnswer&)> on_result;
};
ResultStore store_in(Journal& journal);

// Makes the runs with these numbers, each scenario once and the longest first. Returns the number of runs
// made. Throws Refused, Interrupted, and std::runtime_error if a run fails.
std::size_t make_runs(const MakeOptions& options, Plan& plan, const std::vector<std::size_t>& numbers,
                      const ResultStore& store, const InterruptsHeld& interrupts);

}  // namespace psim::study

// Makes the missing runs of a study, on all cores.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/runs/answer.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

// Makes the runs of a study, each in a separate process: SimGrid's clock cannot be set back, and a run that
// fails must not end the others. The processes are copies of this one, so they need not load the data again.
struct Execution {
  unsigned jobs = 1;                                                   // processes at the same time
  unsigned threads = 1;                                                // of each process
  std::function<void(const PlannedRun&, const RunAnswer&)> on_result;  // called when a run has ended
  // Called often, with the number of finished runs.
  std::function<void(std::size_t finished)> on_progress;
};

// Makes `runs` in this order. If a run fails, throws an exception with its output. Also throws Interrupted.
// No process outlives the call. Call it while this process has no other threads and has not used SimGrid.
void execute(const std::vector<PlannedRun*>& runs, const Execution& how, const InterruptsHeld& interrupts);

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

// Makes the runs of a study, each in a separate process: SimGrid's clock cannot be set back, and a run that
// fails must not end the others. The processes are copies of this one, so they need not load the data again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/runs/answer.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

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

}  // namespace psim::study

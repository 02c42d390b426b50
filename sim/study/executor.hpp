// The runs of a study, each in a process of its own: SimGrid's clock cannot be set back, and a run that
// fails must not take the others with it. The processes are copies of this one, so that what it has loaded
// is theirs without loading it again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/runs/answer.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {

struct Execution {
  unsigned jobs = 1;                                                   // processes at once
  unsigned threads = 1;                                                // of each
  std::function<void(const PlannedRun&, const RunAnswer&)> on_result;  // called when a run has ended
  // Called between any two steps, with the number of runs that have ended.
  std::function<void(std::size_t finished)> on_progress;
};

// Makes `runs` in this order. Throws when one fails, with what it said, and Interrupted; no process outlives
// the call. To be called while this process has no other threads and has used nothing of SimGrid.
void execute(const std::vector<PlannedRun*>& runs, const Execution& how, const InterruptsHeld& interrupts);

}  // namespace psim::study

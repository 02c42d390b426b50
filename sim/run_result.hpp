// The parts of a finished run from which its result is made.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "sim/cluster/fault_plan.hpp"
#include "sim/job.hpp"
#include "sim/record/result.hpp"

namespace psim {

struct EndedRun {
  const Scenario& scenario;
  Recorder& recorder;  // closed; result_of() adds the last weights to its digest
  std::deque<Job>& jobs;
  const FaultPlan* faults;  // null without faults
  double end;               // in simulated seconds
  std::vector<std::string> stuck;
  std::optional<Economy> economy;
};

// Throws BrokenInvariant if the record contradicts itself.
RunResult result_of(const EndedRun& run);

}  // namespace psim

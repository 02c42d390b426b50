// What is left of a run when it has ended.
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
  Recorder& recorder;  // closed; the run's last weights become part of its digest
  std::deque<Job>& jobs;
  const FaultPlan* faults;  // null without faults
  double end;               // in simulated seconds
  std::vector<std::string> stuck;
  std::optional<Economy> economy;
};

// Throws BrokenInvariant if what was recorded cannot be.
RunResult result_of(const EndedRun& run);

}  // namespace psim

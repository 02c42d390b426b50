// The costs of a run's faults: each is the difference to the same run without the fault, from the same random
// streams.
#pragma once

#include <optional>
#include <vector>

#include "sim/record/result.hpp"
#include "sim/record/run_file.hpp"
#include "sim/runs/process.hpp"
#include "sim/runs/request.hpp"

namespace psim {

class FaultCosts {
 public:
  // Call it before this process uses SimGrid: it makes a copy of the process, which waits. No copy if the
  // scenario has no faults, or too many tables of them.
  FaultCosts(const RunRequest& request, const LoadedScenario& loaded);
  ~FaultCosts();
  FaultCosts(FaultCosts&&) = delete;

  // Makes the runs without each fault, and without all of them. Empty if the run is too large for that: this
  // depends on the number of its events and of its operations, not on the machine.
  std::vector<WithoutFault> of(const RunResult& run);

 private:
  OpenFile go_;  // the end of a pipe; the copy works when a byte comes, and ends when the pipe closes
  std::optional<ForkedRun> copy_;
};

}  // namespace psim

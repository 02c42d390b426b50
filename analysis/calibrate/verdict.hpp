// How well simulated steps agree with steps of a log that the fit has not seen.
#pragma once

#include <string>
#include <vector>

#include "analysis/calibrate/step_times.hpp"

namespace psim::calibrate {

// A number of the held-out steps, and of the simulated ones.
struct Compared {
  std::string name;
  double measured = 0, simulated = 0;
  double error() const { return simulated / measured - 1; }
};

struct Verdict {
  std::vector<Compared> judged;     // of a step: mean, median, 95 % quantile
  std::vector<Compared> described;  // further numbers, which explain the errors
  double within = 0.05;
  bool holds = false;                // all judged errors are at most `within`
  std::vector<std::string> reasons;  // sentences about what is wrong; empty: nothing is
};

// `fitted`: the part of the log that the fit has seen. `held_out`: the later part. `simulated`: as many steps
// as held out, for several seeds.
Verdict judge(const StepTimes& fitted, const StepTimes& held_out, const std::vector<StepTimes>& simulated,
              double within);

// The times from a step to the next: of every worker where they are logged, otherwise the longest
// computation, which is a step of bsp without a network.
std::vector<double> step_durations(const StepTimes& times);

}  // namespace psim::calibrate

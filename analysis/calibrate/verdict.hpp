// How well simulated steps agree with steps of a log that the fit has not seen.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/calibrate/step_times.hpp"

namespace psim::calibrate {

// A number of the held-out steps, and of the simulated ones.
struct Compared {
  std::string name;
  double measured = 0, simulated = 0;
  std::string unit = "s";
  double error() const { return simulated / measured - 1; }
};

struct Verdict {
  std::vector<Compared> judged;  // of a step, or of its longest computation: mean, median, 95 % quantile
  // Further numbers, which explain the errors: the mean computation, the longest one over the mean, the
  // memory, and push and pull where they are logged.
  std::vector<Compared> described;
  double within = 0.05;
  bool only_computations = false;    // the log has no push and pull
  bool holds = false;                // all judged errors are at most `within`
  std::vector<std::string> reasons;  // sentences about what is wrong; empty: nothing is
};

// `fitted` is the first part of the log, which gave the fit, and `held_out` the later part. `simulated` has
// the same number of steps as `held_out` for each seed, and `rest` only if the log has it.
Verdict judge(const StepTimes& fitted, const StepTimes& held_out, const std::vector<StepTimes>& simulated,
              double within);

// The times from a step to the next, of all runs: of every worker where they are logged, otherwise the
// longest computation, which is a step of bsp without a network.
std::vector<double> step_durations(std::span<const StepTimes> runs);

// Why a model does not agree with the held-out steps, in words.

// The share of logs of an unchanged cluster for which chance gives a reason.
inline constexpr double false_reasons = 0.02;

// Arguments as of judge(); `verdict` has its numbers. Sentences about differences that chance does not
// explain, those that concern more seconds of a step first. At least one.
std::vector<std::string> reasons_of(const StepTimes& fitted, const StepTimes& held_out,
                                    const std::vector<StepTimes>& simulated, const Verdict& verdict);

}  // namespace psim::calibrate

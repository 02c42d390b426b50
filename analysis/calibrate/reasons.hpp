// Why a model does not agree with the held-out steps, in words.
#pragma once

#include <string>
#include <vector>

#include "analysis/calibrate/verdict.hpp"

namespace psim::calibrate {

// The share of logs of an unchanged cluster for which chance gives a reason.
inline constexpr double false_reasons = 0.02;

// Arguments as of judge(); `verdict` has its numbers. Sentences about differences that chance does not
// explain, those that concern more seconds of a step first. At least one.
std::vector<std::string> reasons_of(const StepTimes& fitted, const StepTimes& held_out,
                                    const std::vector<StepTimes>& simulated, const Verdict& verdict);

}  // namespace psim::calibrate

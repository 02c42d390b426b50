// What a calibration says about its scenario, in the same words on the screen, on the page and in the file.
#pragma once

#include <string>
#include <vector>

#include "sim/calibrate/calibrate.hpp"

namespace psim::calibrate {

// Whether the fit holds, and what the verdict does not judge.
std::string verdict_line(const Calibration& calibration);

// How a number that is judged agrees: "within 5 %" or "beyond 5 %".
std::string judgement(const Compared& judged, double within);

// Why predictions of the scenario mislead, each with what to do. Empty: nothing is known.
std::vector<std::string> warnings(const Calibration& calibration);

// The title of the scenario, which every study of it shows.
std::string scenario_title(const Calibration& calibration);

// The comment at the top of the scenario.
std::string scenario_comment(const Calibration& calibration);

}  // namespace psim::calibrate

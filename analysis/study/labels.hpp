// The names of arms and conditions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

// Adds `one` if it is not in `all`.
void add_once(std::vector<std::string>& all, const std::string& one);

// In the order of their first cells.
std::vector<std::string> arms_of(const Study& study);

// "consistency.model" -> "model"; "scenario" for no axis.
std::string heading_of_axis(const std::string& axis);

// "as it is" for the only arm of a study without axes.
std::string arm_label(const std::string& arm);

// "ssp 3, 8": the arm, and the condition by its values.
std::string cell_label(const Cell& cell);

// "workers = 8, bandwidth = 1Gbps"; empty without axes.
std::string condition_label(const Study& study, const Cell& cell);

// Adds a label for the same runs: "1 or 4".
void add_label(std::string& labels, const std::string& label);

}  // namespace psim::analysis

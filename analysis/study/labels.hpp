// What arms and conditions are called.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/study/study.hpp"

namespace psim::analysis {

// "consistency.model" -> "model"; "scenario" for no axis.
std::string heading_of_axis(const std::string& axis);

// "as it is" for the only arm of a study without axes.
std::string arm_label(const std::string& arm);

// "ssp 3, 8": the arm, and the condition by its values.
std::string cell_label(const Cell& cell);

// "workers = 8, bandwidth = 1Gbps"; empty where there are no axes.
std::string condition_label(const Study& study, const Cell& cell);

// Adds a label to those that stand for the same runs: "1 or 4".
void add_label(std::string& labels, const std::string& label);

// The cells in groups with the same condition, in the order of the first of each.
std::vector<std::vector<const Cell*>> conditions_of(const Study& study);

}  // namespace psim::analysis

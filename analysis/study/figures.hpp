// The content of the figures of a study, for its page and for files.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/render/svg_chart.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {

using ConditionAggregates = std::vector<const Aggregate*>;

// The number of an arm, which gives its letter and colour in all figures.
std::size_t series_of_arm(const Study& study, const std::string& arm);
// The series of a curve's label "a or b" is that of its first arm.
std::size_t series_of_label(const Study& study, const std::string& label);

// Seconds to the target, or of the whole run without a target; absent if unknown.
std::optional<double> mean_time(const Aggregate& one);
std::optional<statistics::Interval> time_interval(const Aggregate& one);  // 95 %, of the mean

// The cost of an arm: time and traffic.
struct Cost {
  const Aggregate* one = nullptr;
  double time_s = 0, sent_mb = 0;  // means
};
// The arms of a condition with known costs.
std::vector<Cost> costs_of(const ConditionAggregates& condition);
// Whether all arms sent the same bytes within 1 %, so that only their times differ.
bool sent_alike(const std::vector<Cost>& costs);
// Time and traffic of each arm, with its final accuracy.
Plot plot_of(const Study& study, const std::vector<Cost>& costs, const std::string& title);

// The names of arms and conditions.

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

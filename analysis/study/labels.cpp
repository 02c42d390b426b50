#include "analysis/study/labels.hpp"

#include <fmt/format.h>

namespace psim::analysis {

void add_once(std::vector<std::string>& all, const std::string& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

std::vector<std::string> arms_of(const Study& study) {
  std::vector<std::string> arms;
  for (const Cell& cell : study.cells) add_once(arms, cell.arm);
  return arms;
}

std::string heading_of_axis(const std::string& axis) {
  return axis.empty() ? "scenario" : axis.substr(axis.rfind('.') + 1);
}

std::string arm_label(const std::string& arm) { return arm.empty() ? "as it is" : arm; }

std::string cell_label(const Cell& cell) {
  std::string label = arm_label(cell.arm);
  for (const std::string& value : cell.condition) label += ", " + value;
  return label;
}

std::string condition_label(const Study& study, const Cell& cell) {
  std::string label;
  for (std::size_t i = 0; i < cell.condition.size(); ++i)
    label += fmt::format("{}{} = {}", label.empty() ? "" : ", ", heading_of_axis(study.condition_axes[i]),
                         cell.condition[i]);
  return label;
}

void add_label(std::string& labels, const std::string& label) {
  const auto between = [](const std::string& text) { return fmt::format(" or {} or ", text); };
  if (between(labels).find(between(label)) == std::string::npos) labels += " or " + label;
}

}  // namespace psim::analysis

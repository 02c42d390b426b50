#include "analysis/study/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace psim::analysis {

std::size_t series_of_arm(const Study& study, const std::string& arm) {
  const std::vector<std::string> arms = arms_of(study);
  return static_cast<std::size_t>(std::ranges::find(arms, arm) - arms.begin());
}

std::size_t series_of_label(const Study& study, const std::string& label) {
  for (const Cell& cell : study.cells) {
    const std::string arm = arm_label(cell.arm);
    if (label == arm || label.starts_with(arm + " or ")) return series_of_arm(study, cell.arm);
  }
  return 0;
}

std::optional<double> mean_time(const Aggregate& one) {
  if (one.time_to_target) return one.time_to_target->restricted_mean_s;
  if (one.time) return one.time->mean;
  return std::nullopt;
}

std::optional<statistics::Interval> time_interval(const Aggregate& one) {
  return one.time_to_target ? one.time_to_target->interval_s : one.time_interval_s;
}

std::vector<Cost> costs_of(const ConditionAggregates& condition) {
  std::vector<Cost> costs;
  for (const Aggregate* one : condition) {
    const std::optional<double> time = mean_time(*one);
    const Statistic* bytes = one->measure("bytes_sent");
    if (time && bytes != nullptr) costs.push_back({one, *time, bytes->mean / 1e6});
  }
  return costs;
}

bool sent_alike(const std::vector<Cost>& costs) {
  if (costs.empty()) return true;
  constexpr double alike = 1.01;
  const auto [low, high] = std::ranges::minmax(costs, {}, &Cost::sent_mb);
  return high.sent_mb <= alike * low.sent_mb;
}

Plot plot_of(const Study& study, const std::vector<Cost>& costs, const std::string& title) {
  Plot plot{.title = title, .x_label = "mean time [s]", .y_label = "sent [MB]"};
  for (const Cost& cost : costs) {
    std::string name = arm_label(cost.one->cell->arm);
    if (const Statistic* accuracy = cost.one->measure("final_accuracy"); accuracy != nullptr)
      name += fmt::format(", {:.1f} %", 100 * accuracy->mean);
    if (!cost.one->pareto) name += " (behind)";
    const std::size_t series = series_of_arm(study, cost.one->cell->arm);
    plot.spots.push_back({.name = std::move(name),
                          .letter = letter_of(series),
                          .x = cost.time_s,
                          .y = cost.sent_mb,
                          .arm = series,
                          .is_filled = cost.one->pareto});
  }
  return plot;
}

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

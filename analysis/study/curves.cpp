#include "analysis/study/curves.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/study/labels.hpp"

namespace psim::analysis {
namespace {

// The run's losses up to the first one that is not a number.
statistics::Curve loss_curve(const Json& summary, bool& diverged) {
  statistics::Curve curve;
  bool has_losses = false;
  for (const Json& point : summary["curve"]) {
    const Json loss = point.value("loss", Json());
    if (!loss.is_number() || !std::isfinite(loss.get<double>())) {
      diverged = has_losses;  // a run without a real model has no loss at all
      break;
    }
    has_losses = true;
    curve.push_back({.time_s = point["sim_time_s"].get<double>(), .value = loss.get<double>()});
  }
  return curve;
}

MeanCurve mean_curve(const Cell& cell, std::size_t points) {
  MeanCurve result{.label = arm_label(cell.arm), .band = {}, .runs = cell.runs.size()};
  std::vector<statistics::Curve> curves;
  for (const StudyRun& run : cell.runs) {
    bool diverged = false;
    curves.push_back(loss_curve(run.summary, diverged));
    if (diverged) ++result.diverged;
  }
  const auto is_empty = [](const statistics::Curve& curve) { return curve.empty(); };
  if (std::ranges::none_of(curves, is_empty)) result.band = statistics::mean_band(curves, points);
  return result;
}

}  // namespace

std::vector<ConditionCurves> mean_curves(const Study& study, std::size_t points) {
  std::vector<ConditionCurves> conditions;
  for (const std::vector<const Cell*>& condition : conditions_of(study)) {
    ConditionCurves& here = conditions.emplace_back();
    here.label = condition_label(study, *condition.front());
    std::vector<const Cell*> drawn;
    for (const Cell* cell : condition) {
      const auto same =
          std::ranges::find_if(drawn, [&](const Cell* other) { return same_runs(*other, *cell); });
      if (same != drawn.end()) {
        add_label(here.curves[static_cast<std::size_t>(same - drawn.begin())].label, arm_label(cell->arm));
        continue;
      }
      drawn.push_back(cell);
      here.curves.push_back(mean_curve(*cell, points));
    }
  }
  return conditions;
}

}  // namespace psim::analysis

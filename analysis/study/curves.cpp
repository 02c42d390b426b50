#include "analysis/study/curves.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/study/figures.hpp"

namespace psim::analysis {
namespace {

// The values of the run before the first value that is not a number.
statistics::Curve curve_of(const Json& summary, const CurveAxes& axes, bool& diverged) {
  statistics::Curve curve;
  bool has_values = false;
  for (const Json& point : summary["curve"]) {
    const Json value = point.value(axes.shows, Json()), place = point.value(axes.along, Json());
    if (!value.is_number() || !std::isfinite(value.get<double>()) || !place.is_number()) {
      diverged = has_values;  // a run without a real model has no loss at all
      break;
    }
    has_values = true;
    curve.push_back({.time_s = place.get<double>(), .value = value.get<double>()});
  }
  return curve;
}

// A finished run keeps its last value, so the mean covers all runs until the last of them ends. After a run
// diverges (its loss is no number), it has no value, and the mean ends there.
void hold(std::vector<statistics::Curve>& curves, const std::vector<bool>& diverged) {
  double end = 0;
  for (const statistics::Curve& curve : curves) {
    if (!curve.empty()) end = std::max(end, curve.back().time_s);
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].empty() && !diverged[i])
      curves[i].push_back({.time_s = end, .value = curves[i].back().value});
  }
}

}  // namespace

MeanCurve mean_curve(const Cell& cell, std::size_t points, const CurveAxes& axes) {
  MeanCurve result{.label = arm_label(cell.arm), .band = {}, .runs = cell.runs.size()};
  std::vector<statistics::Curve> curves;
  std::vector<bool> diverged;
  for (const StudyRun& run : cell.runs) {
    bool ceases = false;
    curves.push_back(curve_of(run.summary, axes, ceases));
    diverged.push_back(ceases);
    if (ceases) ++result.diverged;
  }
  const auto is_empty = [](const statistics::Curve& curve) { return curve.empty(); };
  result.goes_back = std::ranges::any_of(curves, [](const statistics::Curve& curve) {
    return !std::ranges::is_sorted(curve, {}, &statistics::CurvePoint::time_s);
  });
  if (std::ranges::none_of(curves, is_empty) && !result.goes_back) {
    if (std::string_view(axes.along) == CurveAxes{}.along)
      hold(curves, diverged);  // only time continues after the end of a run
    result.band = statistics::mean_band(curves, points);
  }
  return result;
}

std::vector<ConditionCurves> mean_curves(const Study& study, std::size_t points, const CurveAxes& axes) {
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
      here.curves.push_back(mean_curve(*cell, points, axes));
    }
  }
  return conditions;
}

}  // namespace psim::analysis

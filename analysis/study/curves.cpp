#include "analysis/study/curves.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/render/text_table.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/report.hpp"

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

namespace {

constexpr std::size_t most_charts = 3, most_curves = 12;

Series series_of(const MeanCurve& curve) {
  Series series{.name = curve.label, .points = {}, .breaks_off = curve.diverged > 0};
  if (curve.diverged > 0)
    series.name += fmt::format("   (! {} of {} runs diverged)", curve.diverged, curve.runs);
  for (const statistics::BandPoint& point : curve.band) {
    series.points.emplace_back(point.time_s, point.mean);
    if (!point.interval) continue;
    series.low.emplace_back(point.time_s, point.interval->low);
    series.high.emplace_back(point.time_s, point.interval->high);
  }
  return series;
}

std::string chart_of(const ConditionCurves& condition, const ChartSize& size) {
  std::vector<Series> series;
  std::vector<std::string> without, left_out;
  for (const MeanCurve& curve : condition.curves) {
    if (curve.band.empty()) without.push_back(curve.label);
    else if (series.size() == most_curves) left_out.push_back(curve.label);
    else series.push_back(series_of(curve));
  }
  std::string out = chart(
      series,
      {.x_label = "s", .y_label = "loss", .width = size.width, .height = size.height, .colour = size.colour});
  if (out.empty()) return out;
  if (!condition.label.empty()) out = fmt::format("{}\n{}", condition.label, out);
  if (!left_out.empty())
    out +=
        fmt::format("The first {} arms; curves.csv has also: {}\n", most_curves, fmt::join(left_out, ", "));
  if (!without.empty())
    out += fmt::format("No curve, because the runs have no losses or no common times: {}\n",
                       fmt::join(without, ", "));
  return out;
}

}  // namespace

std::string loss_chart(const Study& study, const ChartSize& size) {
  std::string out;
  std::size_t charts = 0, more = 0;
  bool several = false, diverged = false;
  for (const ConditionCurves& condition : mean_curves(study, 200)) {
    const std::string one = chart_of(condition, size);
    if (one.empty()) continue;
    if (charts == most_charts) {
      ++more;
      continue;
    }
    out += (charts++ > 0 ? "\n" : "") + one;
    several = several || std::ranges::any_of(condition.curves, [](const MeanCurve& c) { return c.runs > 1; });
    diverged =
        diverged || std::ranges::any_of(condition.curves, [](const MeanCurve& c) { return c.diverged > 0; });
  }
  if (out.empty()) return out;
  if (more > 0)
    out += fmt::format("The first {} of {} conditions; curves.csv and curves.tex have all.\n", charts,
                       charts + more);
  if (several)
    out +=
        "Means over seeds, up to the end of the last run (a finished run keeps its last value); dots: "
        "the 95 % interval of the mean at each time.\n";
  if (diverged) out += "!: here the loss of a run stopped being a number.\n";
  return out;
}

namespace {

Line line_of(const Study& study, const MeanCurve& curve, double scale) {
  Line line{.name = curve.label, .points = {}, .arm = series_of_label(study, curve.label)};
  if (curve.diverged > 0) line.name += fmt::format(" ({} of {} diverged)", curve.diverged, curve.runs);
  for (const statistics::BandPoint& point : curve.band) {
    line.points.emplace_back(point.time_s, scale * point.mean);
    if (point.interval)
      line.band.push_back({point.time_s, scale * point.interval->low, scale * point.interval->high});
  }
  return line;
}

bool is_above_0(const Line& line) {
  return std::ranges::all_of(line.points, [](const auto& point) { return point.second > 0; }) &&
         std::ranges::all_of(line.band, [](const BandPart& part) { return part.low > 0; });
}

}  // namespace

Plot plot_of(const Study& study, const ConditionCurves& condition, std::string_view shows) {
  const bool is_loss = shows == "loss";
  Plot plot{.title = condition.label, .x_label = "simulated time [s]", .y_label = "accuracy [%]"};
  for (const MeanCurve& curve : condition.curves) {
    if (!curve.band.empty()) plot.lines.push_back(line_of(study, curve, is_loss ? 1 : 100));
  }
  plot.logarithmic = is_loss && std::ranges::all_of(plot.lines, is_above_0);
  if (is_loss) plot.y_label = plot.logarithmic ? "loss (log scale)" : "loss";
  return plot;
}

}  // namespace psim::analysis

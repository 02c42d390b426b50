// The loss over time, drawn with characters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/render/text_chart.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/report.hpp"

namespace psim::analysis {
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

}  // namespace psim::analysis

// The curves of a study page: as figures, and along other axes as data for scripts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/page/study_parts.hpp"
#include "analysis/render/html_chart.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/figures.hpp"

namespace psim::analysis {
namespace {

struct Axis {
  const char *key, *name, *doc;
  double scale = 1;
};
constexpr std::array<Axis, 4> curve_axes{{{"sim_time_s", "simulated time [s]", "simulated time"},
                                          {"updates", "updates", "updates of the weights"},
                                          {"epoch", "epochs", "passes over the training set"},
                                          {"bytes_sent", "sent [MB]", "bytes sent by all nodes", 1e-6}}};
constexpr std::array<Axis, 2> curve_values{
    {{"loss", "loss", "loss"}, {"accuracy", "accuracy [%]", "accuracy", 100}}};

// The number of points per curve: few enough for a small page, many enough for smooth curves.
std::size_t points_of(const Study& study) {
  constexpr std::size_t all = 24'000, fewest = 40, most = 150;
  return std::clamp(all / std::max<std::size_t>(1, study.cells.size()), fewest, most);
}

// Six digits are more than a screen shows.
Json brief(double value) {
  if (!std::isfinite(value)) return nullptr;
  constexpr double digits = 1e6;
  const double ten = std::abs(value) > 0 ? std::pow(10, std::floor(std::log10(std::abs(value)))) : 1;
  return Json::parse(fmt::format("{:.6g}", std::round(value / ten * digits) / digits * ten));
}

std::string curve_figure(const StudyView& view, const ConditionCurves& condition, std::size_t number) {
  Extent x, y;
  for (const MeanCurve& curve : condition.curves) {
    for (const statistics::BandPoint& point : curve.band) {
      x.add(point.time_s);
      y.add(point.interval ? point.interval->low : point.mean);
      y.add(point.interval ? point.interval->high : point.mean);
    }
  }
  if (!x.is_known()) return "";
  Figure plot(Scale(x.low, x.high), Scale(y.low, y.high, y.low > 0), "simulated time [s]",
              y.low > 0 ? "loss (log scale)" : "loss");
  for (const MeanCurve& curve : condition.curves) {
    if (curve.band.empty()) continue;
    const std::size_t series = series_of_label(view.page.study, curve.label);
    Dots mean, outline;
    for (const statistics::BandPoint& point : curve.band) {
      mean.emplace_back(point.time_s, point.mean);
      if (point.interval) outline.emplace_back(point.time_s, point.interval->high);
    }
    for (auto point = curve.band.rbegin(); point != curve.band.rend(); ++point) {
      if (point->interval) outline.emplace_back(point->time_s, point->interval->low);
    }
    if (!outline.empty()) plot.add_band(series, outline);
    plot.add_line(series, mean);
    plot.add_end(series, curve.band.back().mean, curve.label);
  }
  const std::string label =
      condition.label.empty() ? "" : fmt::format("<h3>{}</h3>", escaped(condition.label));
  return fmt::format("{}<div class=\"curves\" data-condition=\"{}\">{}</div>", label, number,
                     plot.html("Mean loss of each arm over simulated time, with 95 % intervals"));
}

Json band_json(const StudyView& view, const MeanCurve& curve, const Axis& along, const Axis& shows) {
  Json x = Json::array(), mean = Json::array(), low = Json::array(), high = Json::array();
  for (const statistics::BandPoint& point : curve.band) {
    x.push_back(brief(point.time_s * along.scale));
    mean.push_back(brief(point.mean * shows.scale));
    if (point.interval) low.push_back(brief(point.interval->low * shows.scale));
    if (point.interval) high.push_back(brief(point.interval->high * shows.scale));
  }
  return {{"series", series_of_label(view.page.study, curve.label)},
          {"label", curve.label},
          {"x", x},
          {"mean", mean},
          {"low", low},
          {"high", high}};
}

}  // namespace

std::string curve_figures(const StudyView& view) {
  std::string out;
  std::size_t number = 0;
  for (const ConditionCurves& condition : mean_curves(view.page.study, points_of(view.page.study)))
    out += curve_figure(view, condition, number++);
  return out;
}

Json curve_data(const StudyView& view) {
  Json all = Json::array();
  for (const Axis& along : curve_axes) {
    for (const Axis& shows : curve_values) {
      Json conditions = Json::array();
      bool is_known = false, goes_back = false;
      for (const ConditionCurves& condition : mean_curves(view.page.study, points_of(view.page.study),
                                                          {.along = along.key, .shows = shows.key})) {
        Json curves = Json::array();
        for (const MeanCurve& curve : condition.curves) {
          goes_back = goes_back || curve.goes_back;
          if (!curve.band.empty()) curves.push_back(band_json(view, curve, along, shows));
        }
        is_known = is_known || !curves.empty();
        conditions.push_back(std::move(curves));
      }
      if (is_known && !goes_back)
        all.push_back({{"along", along.key},
                       {"x_name", along.name},
                       {"x_doc", along.doc},
                       {"shows", shows.key},
                       {"y_name", shows.name},
                       {"conditions", std::move(conditions)}});
    }
  }
  return all;
}

std::string axes_left_out(const StudyView& view) {
  std::string out;
  for (const Axis& along : curve_axes) {
    bool goes_back = false;
    for (const ConditionCurves& condition : mean_curves(view.page.study, 2, {.along = along.key})) {
      for (const MeanCurve& curve : condition.curves) goes_back = goes_back || curve.goes_back;
    }
    if (goes_back)
      out += fmt::format(
          "<p class=\"hint\">No curves along {}: a crash undid some, so their order is not that of time.</p>",
          along.doc);
  }
  return out;
}

}  // namespace psim::analysis

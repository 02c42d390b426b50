// Figures of a study page: curves for scripts, times, the Pareto front, maps over conditions, waits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "analysis/page/page.hpp"
#include "analysis/page/study_parts.hpp"
#include "analysis/render/html.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/figures.hpp"

namespace psim::analysis {

// The curves of a study page: as figures, and along other axes as data for scripts.

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
  const Study& study = view.page.study;
  std::string out;
  std::size_t number = 0;
  for (const ConditionCurves& condition : mean_curves(study, points_of(study))) {
    if (!condition.label.empty()) out += fmt::format("<h3>{}</h3>", escaped(condition.label));
    const std::string still =
        number > 0 ? "" : still_picture(plot_of(study, condition, "loss"), "Mean loss of each arm");
    out += fmt::format("<div class=\"curves\" data-condition=\"{}\">{}</div>", number++, still);
  }
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

namespace {

using Condition = ConditionAggregates;

// The number of a run in study.json.
std::size_t number_of(const StudyView& view, const Cell& cell, const StudyRun& run) {
  std::size_t number = 0;
  for (const Cell& other : view.page.study.cells) {
    if (&other == &cell) return number + static_cast<std::size_t>(&run - cell.runs.data());
    number += other.runs.size();
  }
  return number;
}

std::string anchor_of(const StudyView& view, const Cell& cell, const StudyRun& run) {
  return fmt::format("#run-{}-{}", number_of(view, cell, run), escaped(run.run));
}

// The time of each seed as a dot with a link to its run, the mean as a line, its interval as a bar.
std::string time_row(const StudyView& view, const Aggregate& one, double most) {
  const auto left = [&](double seconds) { return 100 * std::clamp(seconds / most, 0.0, 1.0); };
  const std::size_t series = view.series_of(one.cell->arm);
  std::string track;
  if (const auto interval = time_interval(one))
    track += fmt::format("<span class=\"interval\" style=\"left:{:.2f}%;width:{:.2f}%\"></span>",
                         left(interval->low), left(interval->high) - left(interval->low));
  for (const StudyRun& run : one.cell->runs) {
    const std::optional<double> time = time_of(run.summary);
    const double budget = timed(run).budget_s;
    const double at = time ? *time : std::isfinite(budget) ? budget : most;
    track += fmt::format(
        "<a class=\"dot{}\" href=\"{}\" style=\"left:{:.2f}%\" title=\"seed {}: {}\"><span "
        "class=\"unseen\">seed {}</span></a>",
        time ? "" : " missed", anchor_of(view, *one.cell, run), left(at), run.seed,
        time ? fmt::format("{} s", *time) : "missed the target", run.seed);
  }
  if (const auto mean = mean_time(one))
    track += fmt::format("<span class=\"mean\" style=\"left:{:.2f}%\"></span>", left(*mean));
  return fmt::format(
      "<div class=\"strip s{}\"><span class=\"who\">{} {}</span><span class=\"track\">{}</span><span "
      "class=\"what\">{}</span></div>",
      series % 8, letter_html(series), escaped(arm_label(one.cell->arm)), track,
      time_html(view, one, "&ge; "));
}

double longest(const Condition& condition) {
  double most = 0;
  for (const Aggregate* one : condition) {
    if (const auto mean = mean_time(*one)) most = std::max(most, *mean);
    if (const auto interval = time_interval(*one)) most = std::max(most, interval->high);
    for (const StudyRun& run : one->cell->runs) most = std::max(most, time_of(run.summary).value_or(0));
  }
  return most > 0 ? 1.04 * most : 1;
}

// The figures of one condition; with many conditions, folded.
std::string under_title(const StudyView& view, const Condition& condition, std::size_t conditions,
                        const std::string& figure) {
  constexpr std::size_t few = 4;
  const std::string label = escaped(condition_label(view.page.study, *condition.front()->cell));
  if (label.empty()) return figure;
  return conditions > few ? fmt::format("<details><summary>{}</summary>{}</details>", label, figure)
                          : fmt::format("<h3>{}</h3>{}", label, figure);
}

// One map: the mean time for each pair of a row and a column; darker is slower.
using Places = std::map<std::pair<std::string, std::string>, const Aggregate*>;
std::string heat_map(const StudyView& view, const std::string& title, const std::string& corner,
                     const std::vector<std::string>& rows, const std::vector<std::string>& columns,
                     const Places& places, std::pair<double, double> extent) {
  std::string out = fmt::format("<table class=\"heat\"><caption>{}</caption><thead><tr><th>{}</th>",
                                escaped(title), escaped(corner));
  for (const std::string& column : columns) out += fmt::format("<th scope=\"col\">{}</th>", escaped(column));
  out += "</tr></thead><tbody>";
  for (const std::string& row : rows) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(row));
    for (const std::string& column : columns) {
      const auto found = places.find({row, column});
      const std::optional<double> mean = found == places.end() ? std::nullopt : mean_time(*found->second);
      if (!mean) {
        out += "<td class=\"number\">-</td>";
        continue;
      }
      const Aggregate& one = *found->second;
      const bool is_wide = extent.second > extent.first;
      const double share =
          is_wide ? std::log(*mean / extent.first) / std::log(extent.second / extent.first) : 0.5;
      out += fmt::format("<td class=\"number\" style=\"--heat:{:.0f}%\">{}</td>", 10 + 70 * share,
                         time_html(view, one, "&ge; "));
    }
    out += "</tr>";
  }
  return out + "</tbody></table>";
}

}  // namespace

std::string time_figures(const StudyView& view) {
  std::string out;
  const std::vector<Condition> conditions = by_condition(view.page.evaluation.aggregates);
  for (const Condition& condition : conditions) {
    std::string figure = "<div class=\"strips\">";
    const double most = longest(condition);
    for (const Aggregate* one : condition) figure += time_row(view, *one, most);
    figure += "<div class=\"strip axis\"><span class=\"who\"></span><span class=\"track\">";
    for (const double tick : ticks(0, most, 6))
      figure +=
          fmt::format("<span class=\"xtick\" style=\"left:{:.2f}%\">{:.4g}</span>", 100 * tick / most, tick);
    figure += "</span><span class=\"what\">s</span></div></div>";
    out += under_title(view, condition, conditions.size(), figure);
  }
  return out;
}

std::string pareto_figures(const StudyView& view) {
  std::string out;
  const std::vector<Condition> conditions = by_condition(view.page.evaluation.aggregates);
  for (const Condition& condition : conditions) {
    const std::vector<Cost> costs = costs_of(condition);
    if (costs.size() < 2) continue;
    if (sent_alike(costs)) {
      out +=
          under_title(view, condition, conditions.size(),
                      "<p class=\"hint\">All arms sent the same, within 1 %: only their times differ.</p>");
      continue;
    }
    out += under_title(view, condition, conditions.size(),
                       picture(plot_of(view.page.study, costs, ""),
                               "Mean time and bytes sent of each arm, with its final accuracy"));
  }
  return out;
}

std::string heat_maps(const StudyView& view) {
  const Study& study = view.page.study;
  if (study.condition_axes.empty()) return "";
  struct Map {
    std::string title;
    std::vector<std::string> rows, columns;
    Places places;
  };
  const bool has_two = study.condition_axes.size() > 1;
  std::vector<Map> maps;
  std::pair<double, double> extent{std::numeric_limits<double>::infinity(), 0};
  for (const Aggregate& one : view.page.evaluation.aggregates) {
    const std::vector<std::string>& c = one.cell->condition;
    std::string title = has_two ? arm_label(one.cell->arm) : "";
    for (std::size_t i = 2; i < c.size(); ++i)
      title += fmt::format(", {} = {}", heading_of_axis(study.condition_axes[i]), c[i]);
    auto map = std::ranges::find(maps, title, &Map::title);
    if (map == maps.end()) map = maps.insert(map, {.title = title, .rows = {}, .columns = {}, .places = {}});
    const std::string column = has_two ? c[1] : arm_label(one.cell->arm);
    add_once(map->rows, c[0]);
    add_once(map->columns, column);
    map->places[{c[0], column}] = &one;
    if (const auto mean = mean_time(one); mean && *mean > 0)
      extent = {std::min(extent.first, *mean), std::max(extent.second, *mean)};
  }
  std::string out;
  const std::string corner = fmt::format("{} \\ {}", heading_of_axis(study.condition_axes[0]),
                                         heading_of_axis(has_two ? study.condition_axes[1] : study.arm_axis));
  for (const Map& map : maps)
    out += heat_map(view, map.title, corner, map.rows, map.columns, map.places, extent);
  return "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"mean times over the conditions\">" +
         out + "</div>";
}

std::string waiting_figures(const StudyView& view) {
  constexpr std::size_t most_workers = 40;
  std::string out;
  const std::vector<Condition> conditions = by_condition(view.page.evaluation.aggregates);
  for (const Condition& condition : conditions) {
    std::string arms;
    for (const Aggregate* one : condition) {
      const Cell& cell = *one->cell;
      const std::string run = fmt::format("/runs/{}", number_of(view, cell, cell.runs.front()));
      const std::string rows =
          share_bars(view.numbers, run, cell.runs.front().summary["workers"].size(), most_workers);
      const std::size_t series = view.series_of(cell.arm);
      arms +=
          fmt::format("<div class=\"uses\"><h3>{} {}<small>seed {}</small></h3>{}</div>", letter_html(series),
                      escaped(arm_label(cell.arm)), view.numbers(run + "/seed"), rows);
    }
    const std::string figure = "<div class=\"multiples\">" + arms + "</div>";
    out += conditions.size() == 1
               ? figure
               : fmt::format("<details><summary>{}</summary>{}</details>",
                             escaped(condition_label(view.page.study, *condition.front()->cell)), figure);
  }
  return out;
}

}  // namespace psim::analysis

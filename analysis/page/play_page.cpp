// The page of the playground. Scripts make everything except the frame.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/page/page.hpp"
#include "analysis/page/run_parts.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/timeline/text.hpp"

namespace psim::analysis {

// A playground with the results of a study.

namespace {

// The values of a cell for the controls of the page: first the arm, if the study has arms.
std::vector<std::string> places_of(const Study& study, const Cell& cell) {
  std::vector<std::string> places;
  if (!study.arm_axis.empty()) places.push_back(arm_label(cell.arm));
  places.insert(places.end(), cell.condition.begin(), cell.condition.end());
  return places;
}

// The last part of the name of a field; the whole name if two fields have the same last part.
std::string label_of(const std::string& field, const std::vector<std::string>& fields) {
  const auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  const auto alike = std::ranges::count(fields, last(field), last);
  std::string label = alike > 1 ? field : last(field);
  std::ranges::replace(label, '_', ' ');
  return label;
}

Json controls_of(const Study& study) {
  std::vector<std::string> names;
  if (!study.arm_axis.empty()) names.push_back(study.arm_axis);
  names.insert(names.end(), study.condition_axes.begin(), study.condition_axes.end());
  Json controls = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> values;
    for (const Cell& cell : study.cells) add_once(values, places_of(study, cell)[i]);
    controls.push_back({{"name", names[i]},
                        {"label", label_of(names[i], names)},
                        {"doc", names[i]},
                        {"values", values},
                        {"usual", values.front()}});
  }
  return controls;
}

// The mean over seeds, with its band.
Json band_of(const Cell& cell, const char* shows, double scale) {
  constexpr std::size_t points = 80;
  constexpr double digits = 1e5;     // more than a screen shows
  constexpr std::size_t fewest = 5;  // seeds: with fewer the intervals are wider than the curve
  const bool has_band = cell.runs.size() >= fewest;
  const auto brief = [&](double value) { return std::round(value * scale * digits) / digits; };
  Json x = Json::array(), mean = Json::array(), low = Json::array(), high = Json::array();
  for (const statistics::BandPoint& point :
       mean_curve(cell, points, {.along = "sim_time_s", .shows = shows}).band) {
    x.push_back(point.time_s);
    mean.push_back(brief(point.mean));
    if (!point.interval || !has_band) continue;
    low.push_back(brief(point.interval->low));
    high.push_back(brief(point.interval->high));
  }
  return {{"x", std::move(x)}, {"mean", std::move(mean)}, {"low", std::move(low)}, {"high", std::move(high)}};
}

// Only the first clocks: a page has many time lines.
Timeline beginning(Timeline line) {
  constexpr std::int64_t clocks = 6;
  line.end = end_of_clocks(line, clocks);
  for (Lane& lane : line.lanes) {
    std::erase_if(lane.spans, [&](const Span& span) { return span.begin >= line.end; });
    std::erase_if(lane.marks, [&](const Mark& mark) { return mark.at > line.end; });
    if (!lane.spans.empty()) lane.spans.back().end = std::min(lane.spans.back().end, line.end);
  }
  std::erase_if(line.shades, [&](const Shade& shade) { return shade.begin >= line.end; });
  return line;
}

Json result_of(const Study& study, const Cell& cell, const CellEvents& events) {
  std::vector<const Json*> summaries;
  Json stuck = Json::array();
  for (const StudyRun& run : cell.runs) {
    summaries.push_back(&run.summary);
    for (const Json& why : run.summary["stuck"]) stuck.push_back(why);
  }
  const Milestone milestone = milestone_of(*summaries.front());
  Json drawn;
  if (events.timeline) drawn = {{"timeline", timeline_json(beginning(*events.timeline))}};
  return {{"name", fmt::format("{}; {} {}", fmt::join(places_of(study, cell), ", "), cell.runs.size(),
                               cell.runs.size() == 1 ? "seed" : "seeds")},
          {"facts", facts_of(summaries)},
          {"curves", {{"loss", band_of(cell, "loss", 1)}, {"accuracy", band_of(cell, "accuracy", 100)}}},
          {"stuck", std::move(stuck)},
          {"sentences", events.sentences},
          {"milestone",
           {{"name", milestone.name}, {"at_s", milestone.at_s}, {"sentences", events.milestone_sentences}}},
          {"goal", goal_of((*summaries.front())["target"])},
          {"drawn", std::move(drawn)},
          {"command", events.command}};
}

}  // namespace

std::string sliders_page(const Study& study, const std::map<std::string, CellEvents>& events) {
  Json results = Json::object();
  for (const Cell& cell : study.cells) {
    if (cell.runs.empty()) continue;
    const auto known = events.find(cell.runs.front().run);
    results[Json(places_of(study, cell)).dump()] =
        result_of(study, cell, known == events.end() ? CellEvents() : known->second);
  }
  Json controls = controls_of(study);
  Json other = Json::object();  // the second side begins with another arm
  if (!controls.empty() && controls[0]["values"].size() > 1)
    other[controls[0]["name"].get<std::string>()] = controls[0]["values"].back();
  return play_page({{"title", study.title},
                    {"controls", std::move(controls)},
                    {"begin", {Json::object(), std::move(other)}},
                    {"results", std::move(results)}});
}

namespace {

constexpr const char* play_body =
#include "analysis/page/play_body.html.inc"
    ;
}  // namespace

std::string play_page(const Json& data) {
  Json all = data;
  all["kind"] = "play";
  return html_of(
      {.title = "Playground - psim", .body = play_body, .data = all, .asks = !data.contains("results")});
}

}  // namespace psim::analysis

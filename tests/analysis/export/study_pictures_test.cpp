// Goal: the charts of a study show its numbers. Method: numbers are read back from the SVG with the help of
// the axes' ticks, as a reader does with a ruler, and compared with the study's aggregates and mean curves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "analysis/export/exports.hpp"
#include "analysis/page/page.hpp"
#include "analysis/render/svg_chart.hpp"
#include "analysis/study/curves.hpp"
#include "analysis/study/figures.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"

using namespace psim::analysis;
using namespace psim::test;

namespace {

struct Text {
  double x = 0, y = 0;
  std::string anchor, text;
};

std::vector<std::smatch> all_of(const std::string& svg, const char* pattern) {
  const std::regex regex(pattern);
  return {std::sregex_iterator(svg.begin(), svg.end(), regex), std::sregex_iterator()};
}

std::vector<Text> texts_of(const std::string& svg) {
  std::vector<Text> texts;
  for (const std::smatch& one :
       all_of(svg, R"re(<text x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)">([^<]*)</text>)re"))
    texts.push_back({std::stod(one[1]), std::stod(one[2]), one[3], one[4]});
  return texts;
}

bool has_text(const std::string& svg, const std::string& text) {
  return std::ranges::any_of(texts_of(svg), [&](const Text& one) { return one.text == text; });
}

// What a place on an axis means, from its first and last tick.
struct Ruler {
  double from = 0, to = 0, low = 0, high = 0;  // millimetres, and values there
  bool is_log = false;
  double value(double at) const {
    const double share = (at - from) / (to - from);
    return is_log ? low * std::pow(high / low, share) : low + (high - low) * share;
  }
};

Ruler ruler_of(const std::string& svg, bool is_x, bool is_log = false) {
  std::vector<std::pair<double, double>> ticks;
  for (const Text& one : texts_of(svg)) {
    const bool is_number =
        !one.text.empty() && one.text.find_first_not_of("0123456789.e-+") == std::string::npos;
    if (!is_number || one.anchor != (is_x ? "middle" : "end")) continue;
    ticks.emplace_back(is_x ? one.x : one.y - text_mm / 3, std::stod(one.text));
  }
  REQUIRE(ticks.size() >= 2);
  return {ticks.front().first, ticks.back().first, ticks.front().second, ticks.back().second, is_log};
}

// The points of paths whose tags have `attribute`.
std::vector<std::vector<std::pair<double, double>>> paths_with(const std::string& svg,
                                                               const std::string& attribute) {
  std::vector<std::vector<std::pair<double, double>>> paths;
  for (const std::smatch& one : all_of(svg, R"re(<path d="([^"]*)"([^>]*)/>)re")) {
    if (one[2].str().find(attribute) == std::string::npos) continue;
    auto& points = paths.emplace_back();
    const std::string d = one[1];
    for (const std::smatch& point : all_of(d, R"re([ML]([-\d.]+) ([-\d.]+))re"))
      points.emplace_back(std::stod(point[1]), std::stod(point[2]));
  }
  return paths;
}

const std::string& picture(const StudyPictures& made, const std::string& name) {
  const auto found = std::ranges::find(made.pictures, name, &Picture::name);
  INFO(name);
  REQUIRE(found != made.pictures.end());
  return found->text;
}

std::vector<std::string> names_of(const StudyPictures& made) {
  std::vector<std::string> names;
  for (const Picture& one : made.pictures) names.push_back(one.name);
  return names;
}

StudyPictures charts(const Study& study, double width = 180) {
  return study_pictures(study, evaluate(study), width);
}

RunFacts learning(double start, double rate) {
  RunFacts facts = reached(10 / rate, 20);
  for (int i = 0; i <= 20; ++i) facts.curve.emplace_back(0.5 * i, start * std::exp(-rate * 0.5 * i));
  return facts;
}

// Arms of three seeds; the losses stay above 0, and so do their intervals.
Study falling() {
  Study s = study({}, {cell("bsp", {}, {learning(2, 0.3), learning(2.1, 0.31), learning(2.05, 0.29)}),
                       cell("asp", {}, {learning(2, 0.4), learning(2.1, 0.42), learning(1.9, 0.41)})});
  for (StudyRun& run : s.cells.back().runs) run.summary["bytes_sent"] = 5e6;
  return s;
}

// A place in a file has two digits, which is this much of a value.
double precision(const Ruler& ruler, double at) {
  return std::abs(ruler.value(at + 0.011) - ruler.value(at));
}

}  // namespace

TEST_CASE("mean curves and bands are those of the study", "[export]") {
  const Study s = falling();
  const double width = GENERATE(85.0, 180.0);
  const std::string text = picture(charts(s, width), "loss.svg");
  CHECK(has_text(text, "loss (log scale)"));
  const Ruler x = ruler_of(text, true), y = ruler_of(text, false, true);
  const std::vector<ConditionCurves> curves = mean_curves(s, 200);
  for (const std::size_t arm : {std::size_t{0}, std::size_t{1}}) {
    const auto lines = paths_with(text, fmt::format("fill=\"none\" stroke=\"{}\"", arm_colours[arm]));
    const auto bands = paths_with(text, fmt::format("fill=\"{}\"", arm_colours[arm]));
    REQUIRE(lines.size() == 1);
    REQUIRE(bands.size() == 1);
    const std::vector<psim::statistics::BandPoint>& band = curves[0].curves[arm].band;
    REQUIRE(lines[0].size() == band.size());
    REQUIRE(bands[0].size() == 2 * band.size());
    for (std::size_t i = 0; i < band.size(); ++i) {
      const auto [px, py] = lines[0][i];
      CHECK(x.value(px) == Approx(band[i].time_s).margin(2 * precision(x, px)));
      CHECK(y.value(py) == Approx(band[i].mean).margin(2 * precision(y, py)));
      const double high = bands[0][i].second, low = bands[0][2 * band.size() - 1 - i].second;
      CHECK(y.value(high) == Approx(band[i].interval->high).margin(2 * precision(y, high)));
      CHECK(y.value(low) == Approx(band[i].interval->low).margin(2 * precision(y, low)));
    }
  }
}

TEST_CASE("accuracy has a chart where there is one, in percent", "[export]") {
  Study s = falling();
  CHECK(std::ranges::count(names_of(charts(s)), "accuracy.svg") == 0);
  for (Json& point : s.cells.front().runs.front().summary["curve"]) point["accuracy"] = 0.5;
  for (Json& point : s.cells.front().runs[1].summary["curve"]) point["accuracy"] = 0.7;
  s.cells.front().runs.pop_back();
  const StudyPictures made = charts(s);
  const std::string text = picture(made, "accuracy.svg");
  CHECK(has_text(text, "accuracy [%]"));
  const Ruler y = ruler_of(text, false);
  const auto lines = paths_with(text, "fill=\"none\" stroke=\"#0072b2\"");
  REQUIRE(!lines.empty());
  CHECK(y.value(lines[0].back().second) == Approx(60).margin(0.1));
  REQUIRE(made.remarks.size() == 1);
  CHECK(made.remarks[0] ==
        "accuracy.svg has no curve of asp: the runs have no accuracy or no times in common");
}

TEST_CASE("times are the aggregates' means and intervals, and who missed is said", "[export]") {
  const Study s = study({}, {cell("bsp", {}, {reached(4, 12), reached(6, 12), reached(5, 12)}),
                             cell("a long name of an arm", {}, {reached(9, 12), missed(12), missed(12)}),
                             cell("asp", {}, {missed(12), missed(12), missed(12)})});
  const Evaluation evaluation = evaluate(s);
  const double width = GENERATE(50.0, 85.0, 180.0);
  const std::string text = picture(study_pictures(s, evaluation, width), "times.svg");
  const Ruler x = ruler_of(text, true);
  const auto means = all_of(text, R"re(<circle cx="([\d.]+)")re");
  const auto intervals =
      all_of(text, R"re(<path d="M([\d.]+) [\d.]+H([\d.]+)" stroke="#\w+" stroke-width="1.4")re");
  REQUIRE(means.size() == 3);
  CHECK(!evaluation.aggregates[2].time_to_target->interval_s);  // nothing is known of its times
  REQUIRE(intervals.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const TimeToTarget& time = *evaluation.aggregates[i].time_to_target;
    const double off = 2 * precision(x, 0);
    CHECK(x.value(std::stod(means[i][1])) == Approx(time.restricted_mean_s).margin(off));
    CHECK(x.value(std::stod(intervals[i][1])) == Approx(std::max(0.0, time.interval_s->low)).margin(off));
    CHECK(x.value(std::stod(intervals[i][2])) == Approx(time.interval_s->high).margin(off));
  }
  CHECK(!has_text(text, "3 of 3 reached"));
  CHECK(has_text(text, "1 of 3 reached"));
  CHECK(has_text(text, "0 of 3 reached"));
  std::string words;  // narrow charts have it in two lines
  for (const Text& one : texts_of(text)) words += one.text + " ";
  CHECK(words.find("time to the target [s], at most 12 s") != std::string::npos);
}

TEST_CASE("without a target the times are those of the runs", "[export]") {
  const Study s = study({}, {cell("bsp", {}, lasting({1, 2, 3})), cell("asp", {}, lasting({2}))});
  const std::string text = picture(charts(s), "times.svg");
  CHECK(has_text(text, "length of the run [s]"));
  CHECK(ruler_of(text, true).value(std::stod(all_of(text, R"re(<circle cx="([\d.]+)")re")[0][1])) ==
        Approx(2).margin(0.01));
  CHECK(names_of(charts(s)) == std::vector<std::string>{"times.svg"});  // no losses, and the same bytes
  CHECK(charts(s).remarks ==
        std::vector<std::string>{"there is no pareto.svg: all arms sent the same, within 1 %"});
}

TEST_CASE("what time costs in traffic is the aggregates', and hollow behind the front", "[export]") {
  Study s = falling();
  const Evaluation evaluation = evaluate(s);
  const std::string text = picture(study_pictures(s, evaluation, 85), "pareto.svg");
  const Ruler x = ruler_of(text, true), y = ruler_of(text, false);
  const auto spots = all_of(text, R"re(<circle cx="([\d.]+)" cy="([\d.]+)" r="1" fill="(#\w+)")re");
  const std::vector<Cost> costs = costs_of(by_condition(evaluation.aggregates).front());
  REQUIRE(spots.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double px = std::stod(spots[i][1]), py = std::stod(spots[i][2]);
    CHECK(x.value(px) == Approx(costs[i].time_s).margin(2 * precision(x, px)));
    CHECK(y.value(py) == Approx(costs[i].sent_mb).margin(2 * precision(y, py)));
    CHECK(spots[i][3] == arm_colours[i]);
  }
  CHECK(has_text(text, "bsp, 75.0 %"));
  for (StudyRun& run : s.cells.front().runs) run.summary["bytes_sent"] = 9e6;
  const std::string behind = picture(charts(s, 85), "pareto.svg");
  CHECK(has_text(behind, "bsp, 75.0 % (behind)"));
  CHECK(behind.find("fill=\"#fff\" stroke=\"#0072b2\"") != std::string::npos);
}

TEST_CASE("names of marks that lie together do not cover each other", "[export]") {
  Plot plot{.title = "", .x_label = "", .y_label = ""};
  const std::size_t count = GENERATE(8, 40);
  for (std::size_t i = 0; i < count; ++i)
    plot.spots.push_back(
        {fmt::format("arm {}", i), fmt::format("({})", i), 5 + 0.001 * static_cast<double>(i), 5, i});
  const std::string text = svg(plot, 85);
  std::vector<Box> names;
  for (const Text& one : texts_of(text)) {
    if (!one.text.starts_with("arm ")) continue;
    const double width = text_width(one.text), begin = one.anchor == "end" ? one.x - width : one.x;
    names.push_back({begin, one.y - text_mm * 0.8, begin + width, one.y + text_mm * 0.2});
  }
  REQUIRE(names.size() == count);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(names[i].right <= 85);
    for (std::size_t j = 0; j < i; ++j) CHECK(!names[i].meets(names[j]));
  }
  const bool is_explained = has_text(text, "(3)");  // a letter, twice: in the mark and in the legend
  CHECK(is_explained == (count == 40));
}

TEST_CASE("each condition has its charts, titled, of the first 24", "[export]") {
  std::vector<Cell> cells;
  for (int i = 0; i < 25; ++i)
    cells.push_back(
        cell("bsp", {std::to_string(i), "a long value of an axis, with words"}, {learning(2, 0.3)}));
  const Study s = study({"cluster.workers", "cluster.network.bandwidth"}, cells);
  const StudyPictures made = charts(s, 85);
  CHECK(made.pictures.size() == 2 * 24);
  CHECK(made.pictures.front().name == "loss-1.svg");
  CHECK(made.remarks == std::vector<std::string>{"the charts are those of the first 24 of 25 conditions"});
  for (const char* name : {"loss-24.svg", "times-24.svg"}) {
    std::string words;  // the title has several lines
    for (const Text& one : texts_of(picture(made, name))) words += one.text + " ";
    CHECK(words.find("workers = 23, bandwidth = a long value of an axis, with words") != std::string::npos);
    CHECK(words.find("\u2026") == std::string::npos);
  }
}

TEST_CASE("arms have the colours of the page, in every condition", "[export]") {
  const Study s = study({"k"}, {cell("a", {"1"}, lasting({1})), cell("b", {"1"}, lasting({2})),
                                cell("b", {"2"}, lasting({2}))});
  const StudyPictures made = charts(s);
  CHECK(picture(made, "times-2.svg").find("fill=\"#d55e00\"") != std::string::npos);
  CHECK(picture(made, "times-2.svg").find("fill=\"#0072b2\"") == std::string::npos);
  const std::string css = html_of({.title = "", .body = "", .data = {}});
  for (std::size_t i = 0; i < std::size(arm_colours); ++i) {
    const std::string variable = fmt::format("--s{}: ", i);
    CHECK(css.substr(css.find(variable) + variable.size(), 7) == arm_colours[i]);
  }
  for (const auto& [use, colour] : use_colours) {
    const std::string variable = fmt::format("--{}: ", name_of(use));
    CHECK(css.substr(css.find(variable) + variable.size(), 7) == colour);
  }
  for (std::size_t i = 0; i < 8; ++i) CHECK(arm_stroke(i) != arm_stroke(i + 8));
}

TEST_CASE("colours of a terminal can be read on black and on white", "[export]") {
  const auto part = [](int level) {  // of the luminance of a level of 6, by WCAG 2.1
    return level == 0 ? 0 : std::pow(((55 + 40 * level) / 255.0 + 0.055) / 1.055, 2.4);
  };
  for (const std::string_view code : terminal_colours) {
    CAPTURE(code);
    REQUIRE(code.starts_with("38;5;"));
    const int number = std::stoi(std::string(code.substr(5)));
    const int cube = number - 16;
    const double grey = std::pow(((8 + 10 * (number - 232)) / 255.0 + 0.055) / 1.055, 2.4);
    const double luminance =
        number >= 232 ? grey
                      : 0.2126 * part(cube / 36) + 0.7152 * part(cube / 6 % 6) + 0.0722 * part(cube % 6);
    CHECK((luminance + 0.05) / 0.05 >= 3);
    CHECK(1.05 / (luminance + 0.05) >= 3);
  }
}

TEST_CASE("long texts are parted at blanks", "[export]") {
  CHECK(wrapped_in_mm("one two three", 12) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped_in_mm("", 12).empty());
  CHECK(wrapped_in_mm("a verylongword", 6) == std::vector<std::string>{"a", "ver\u2026"});
}

// Goal: other programs get what happened, in their own formats. Method: small readers of these formats, and
// the programs themselves where they are installed.
#include "analysis/export/exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/render/svg_chart.hpp"
#include "tests/analysis/timeline/recorded.hpp"

using namespace psim::analysis;
using psim::test::Outcome;
using psim::test::process;
using psim::test::recorded;
using psim::test::TemporaryFolder;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == separator && !quoted) cells.emplace_back();
    else cells.back() += c;
  }
  return cells;
}

// Whether each tag that opens is closed, in order.
bool is_balanced(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; (at = xml.find('<', at)) != std::string::npos;) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    at = end;
    if (tag.starts_with("!") || tag.ends_with("/")) continue;
    const std::string name = tag.substr(0, tag.find(' '));
    if (!name.starts_with("/")) open.push_back(name);
    else if (open.empty() || "/" + open.back() != name) return false;
    else open.pop_back();
  }
  return open.empty();
}

struct Example {
  TemporaryFolder folder;
  RunRecord run{recorded(folder, psim::test::slow_pair)};
  Recording all = recording_of(run, "one <&> \"run\"");
};

// Two workers that learn, so that there is a loss.
const std::string learning = R"(data = {source = "digits"}
model = {layers = [64, 10]}
training = {batch_size = 16, steps = 5, evaluate_every = "2 updates"}
consistency = {model = "ssp", staleness = 2}
cluster = {workers = 2, servers = 1}
)";

}  // namespace

TEST_CASE("a CSV export has every span and message", "[export]") {
  const Example example;
  const std::vector<std::string> lines = lines_of(csv(example.all));
  const std::vector<std::string> head = cells_of(lines.front(), ',');
  std::map<std::string, std::size_t> count;
  double compute = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = cells_of(lines[i], ',');
    REQUIRE(cells.size() == head.size());
    ++count[cells[0]];
    if (cells[0] == "span" && cells[4] == "compute" && cells[1] == "worker 1")
      compute += std::stod(cells[3]) - std::stod(cells[2]);
  }
  CHECK(compute == Approx(6));
  CHECK(count["message"] == example.all.messages.size());
  CHECK(count["shade"] == 1);
  std::size_t spans = 0;
  for (const Lane& lane : example.all.line.lanes) spans += lane.spans.size();
  CHECK(count["span"] == spans);
}

TEST_CASE("a part of a run has what lies in it", "[export]") {
  const Example example;
  const Recording part = part_of(example.all, 1.5, 2.5);
  CHECK(part.line.lanes[2].spans.size() == 1);
  CHECK(part.line.lanes[2].spans[0].begin == 1.5);
  CHECK(part.line.lanes[2].spans[0].end == 2.5);
  CHECK(part.line.lanes[2].spans[0].use == Use::wait);
  CHECK(part.messages.empty());
  CHECK(part.line.shades.size() == 1);
}

TEST_CASE("the causes of a few clocks are a graph for Graphviz", "[export]") {
  const Example example;
  const CausalGraph graph = causal_graph(example.run);
  const std::string text = dot(example.all, graph);
  std::ofstream(example.folder.path() / "one.dot") << text;
  std::size_t edges = 0, vertices = 0;
  for (const std::string& line : lines_of(text)) {
    edges += line.find(" -> ") != std::string::npos ? 1 : 0;
    vertices += line.starts_with("    m") ? 1 : 0;
  }
  CHECK(vertices == graph.size());
  CHECK(edges == num_edges(graph.moments));
  CHECK_THROWS_AS(dot(example.all, graph, graph.size() - 1), std::length_error);
  if (process({"dot", "-V"}).code != 0) return;
  const Outcome drawn = process({"dot", "-Tsvg", "-o", "one.svg", "one.dot"}, example.folder.path());
  CHECK(drawn.code == 0);
  CHECK(drawn.err.empty());
}

TEST_CASE("charts are vector graphics of the width that is asked for", "[export]") {
  const TemporaryFolder folder;
  const RunRecord run(recorded(folder, learning));
  const Recording all = recording_of(run, "one <&> \"run\"");
  const double width = GENERATE(85.0, 180.0);
  const std::vector<Picture> made = pictures(all, all, width);
  std::vector<std::string> names;
  for (const Picture& one : made) {
    CAPTURE(one.name);
    names.push_back(one.name);
    CHECK(is_balanced(one.text));
    CHECK(one.text.starts_with(svg_mark));
    CHECK(one.text.find(fmt::format("width=\"{:.2f}mm\"", width)) != std::string::npos);
    CHECK(one.text.find("nan") == std::string::npos);
    CHECK(one.text.find("inf") == std::string::npos);
  }
  CHECK(names ==
        std::vector<std::string>{"timeline.svg", "loss.svg", "staleness.svg", "clocks.svg", "traffic.svg"});
}

TEST_CASE("a chart that has nothing to show is left out", "[export]") {
  const Example example;  // a phantom has no loss
  std::vector<std::string> names;
  for (const Picture& one : pictures(example.all, example.all, 85)) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"timeline.svg", "staleness.svg", "clocks.svg", "traffic.svg"});
}

TEST_CASE("charts and drawings say what they leave out", "[export]") {
  const Example example;
  Recording many = example.all;
  for (std::uint32_t i = 0; i < 30; ++i) {
    many.begun.push_back(many.begun.front());
    many.begun.back().worker = 100 + i;
    many.line.lanes.push_back(many.line.lanes.back());
    many.line.lanes.back().node += 1;
  }
  const std::vector<Picture> made = pictures(many, many, 400);
  const auto clocks = std::ranges::find(made, "clocks.svg", &Picture::name);
  REQUIRE(clocks != made.end());
  CHECK(clocks->text.find("last and first of 3") != std::string::npos);
  CHECK(tikz(many, many).find("nodes left out") != std::string::npos);
  CHECK(tikz(example.all, example.all).find("left out") == std::string::npos);
}

TEST_CASE("a curve goes through its points", "[export]") {
  // 100 mm wide: the plotting area is from 14 to 97 mm, and 6 to 46 mm down. 0 is the lowest, 5 % above 10
  // the highest value.
  const std::string text =
      svg({.title = "", .x_label = "", .y_label = "", .lines = {{"", {{0, 0}, {5, 10}, {10, 0}}}}}, 100);
  CHECK(text.find("M14.00 46.00L55.50 7.90L97.00 46.00") != std::string::npos);
}

TEST_CASE("on two logarithmic axes a power law is straight", "[export]") {
  // As above, from 1 to 100 and from 1 to 10,000: the point in the middle of both logarithms is in the
  // middle.
  Plot plot{.title = "", .x_label = "", .y_label = "", .lines = {{"", {{1, 1}, {10, 100}, {100, 1e4}}}}};
  plot.logarithmic = plot.logarithmic_x = true;
  const std::string text = svg(plot, 100);
  CHECK(text.find("M14.00 46.00L55.50 26.00L97.00 6.00") != std::string::npos);
  for (const char* tick : {"M14.00 46.00v1", "M55.50 46.00v1", "M97.00 46.00v1"})  // 1, 10 and 100
    CHECK(text.find(tick) != std::string::npos);
}

TEST_CASE("long names are cut at whole characters", "[export]") {
  CHECK(fitted("worker 1", 15) == "worker 1");
  CHECK(fitted("a name", 6) == "a n\u2026");
  CHECK(fitted("\u00e4\u00e4\u00e4\u00e4\u00e4", 6) == "\u00e4\u00e4\u00e4\u2026");
}

TEST_CASE("the legend of a narrow time line stays in the picture", "[export]") {
  const Example example;
  const std::string text = pictures(example.all, example.all, 50).front().text;
  for (std::size_t at = 0; (at = text.find("<text x=\"", at)) != std::string::npos; ++at)
    CHECK(std::stod(text.substr(at + 9)) <= 50);
}

TEST_CASE("ticks are round numbers within the axis", "[export]") {
  CHECK(ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(ticks(0.5, 2.6, 5) == std::vector<double>{0.5, 1, 1.5, 2, 2.5});
  CHECK(ticks(1, 1, 5) == std::vector<double>{1});
  for (const double at : ticks(-3e-4, 7e-4, 6)) CHECK((at >= -3e-4 - 1e-12 && at <= 7e-4 + 1e-12));
}

TEST_CASE("LaTeX takes the time line and the loss", "[export]") {
  const TemporaryFolder folder;
  const RunRecord run(recorded(folder, learning));
  Recording all = recording_of(run, "one_#1");
  all.line.lanes.back().name = "\u6b66 \u00e4";
  const std::string text = tikz(all, all);
  CHECK(text.find("? ?") != std::string::npos);
  CHECK(std::ranges::count(text, '{') == std::ranges::count(text, '}'));
  std::size_t fills = 0, spans = 0;
  for (const std::string& line : lines_of(text)) fills += line.starts_with("\\fill") ? 1 : 0;
  for (const Lane& lane : all.line.lanes) spans += lane.spans.size();
  CHECK(fills == spans + 5);  // and the legend
  std::ofstream(folder.path() / "one.tex") << text;
  if (process({"kpsewhich", "pgfplots.sty"}).code != 0) return;
  const Outcome made =
      process({"pdflatex", "-interaction=nonstopmode", "-halt-on-error", "one.tex"}, folder.path());
  INFO(made.out);
  CHECK(made.code == 0);
}

// The charts of a run: time line, loss, staleness, clocks, traffic.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/export/exports.hpp"
#include "analysis/render/colours.hpp"
#include "analysis/render/svg_chart.hpp"
#include "analysis/timeline/choice.hpp"

namespace psim::analysis {
namespace {

std::string time_line(const Recording& window, double width) {
  constexpr double left = 18, top = 4, row = 4, right = 3;
  const auto [lanes, left_out] = lanes_to_show(window.line, window.from, window.until, lanes_of_a_page);
  const double bottom = top + row * static_cast<double>(lanes.size());
  const double scale = (width - left - right) / (window.until - window.from);
  const auto x = [&](double at) { return left + (at - window.from) * scale; };
  std::string body;
  const int marks = std::clamp(static_cast<int>((width - left - right) / 10), 2, 6);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double y = top + row * static_cast<double>(i);
    body += svg_text(left - 1, y + row * 0.75, fitted(lanes[i]->name, left - 1), "end");
    for (const Span& span : lanes[i]->spans)
      body += fmt::format(
          "<rect x=\"{:.3f}\" y=\"{:.2f}\" width=\"{:.3f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x(span.begin),
          y + 0.4, (span.end - span.begin) * scale, row - 0.8, colour_of(span.use));
    for (const Mark& mark : lanes[i]->marks)
      body += fmt::format("<path d=\"M{:.3f} {:.2f}v{:.2f}\" stroke=\"#000\" stroke-width=\"0.2\"/>\n",
                          x(mark.at), y, row);
  }
  for (const double at : ticks(window.from, window.until, marks)) {
    body +=
        fmt::format("<path d=\"M{:.3f} {:.2f}v1\" stroke=\"#000\" stroke-width=\"0.2\"/>\n", x(at), bottom);
    body += svg_text(x(at), bottom + 4, fmt::format("{:.6g}", at), "middle");
  }
  body += svg_text((left + width - right) / 2, bottom + 7.5, "simulated time [s]", "middle");
  if (left_out > 0)
    body += svg_text(width - right, top - 1,
                     fmt::format("{} node{} left out", left_out, left_out == 1 ? "" : "s"), "end");
  constexpr double box = 2.6, gap = 4;
  double place = left, legend = bottom + 9;
  for (const auto& [use, colour] : use_colours) {
    const std::string name(name_of(use));
    const double of_this = box + text_width(name);
    if (place > left && place + of_this > width) {
      place = left;
      legend += row;
    }
    body += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"2\" height=\"2\" fill=\"{}\"/>\n", place,
                        legend, colour);
    body += svg_text(place + box, legend + 1.9, name);
    place += of_this + gap;
  }
  return svg_document(width, legend + 3, body);
}

Plot loss(const Recording& all) {
  Plot plot{.title = all.name, .x_label = "simulated time [s]", .y_label = "loss", .lines = {}};
  plot.logarithmic = true;
  for (const LossCurve& curve : all.curves) {
    plot.lines.push_back({curve.name, curve.points});
    for (const auto& point : curve.points) plot.logarithmic = plot.logarithmic && point.second > 0;
  }
  return plot;
}

// For each staleness: the share of pushes with at most this staleness.
Plot staleness(const Recording& all) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const Applied& push : all.applied) ++counts[push.staleness];
  Plot plot{.title = all.name,
            .x_label = "staleness [updates]",
            .y_label = "share of pushes with at most this staleness",
            .lines = {}};
  if (counts.empty()) return plot;
  Line line{.name = "", .points = {{0, 0}}, .is_step = true};
  std::int64_t sum = 0;
  for (const auto& [updates, count] : counts) {
    sum += count;
    line.points.emplace_back(static_cast<double>(updates),
                             static_cast<double>(sum) / static_cast<double>(all.applied.size()));
  }
  line.points.emplace_back(line.points.back().first + 1, 1);
  plot.lines.push_back(std::move(line));
  return plot;
}

// The clock of each worker over time; of many workers only the first and the last, by their last clock.
Plot clocks(const Recording& all) {
  std::map<std::uint32_t, Line> lines;
  for (const Begun& one : all.begun) {
    Line& line =
        lines.try_emplace(one.worker, Line{fmt::format("worker {}", one.worker), {}, true}).first->second;
    line.points.emplace_back(one.at, static_cast<double>(one.clock));
  }
  std::vector<Line> order;
  for (auto& [worker, line] : lines) order.push_back(std::move(line));
  const auto last = [](const Line& line) { return line.points.back(); };
  constexpr std::size_t most = 8;
  std::string title = all.name;
  if (order.size() > most) {
    title += fmt::format("; the {} workers that are last and first of {}", most, order.size());
    std::ranges::stable_sort(order,
                             [&](const Line& a, const Line& b) { return last(a).second < last(b).second; });
    order.erase(order.begin() + most / 2, order.end() - most / 2);
  }
  return {.title = title, .x_label = "simulated time [s]", .y_label = "clock", .lines = std::move(order)};
}

// Bytes sent until each date, by kind of message; only the kinds with the most bytes.
Plot traffic(const Recording& all) {
  std::map<std::string, std::vector<std::pair<double, double>>> of_kind;
  for (const Message& message : all.messages) {
    auto& points = of_kind[message.kind];
    const double before = points.empty() ? 0 : points.back().second;
    if (points.empty()) points.emplace_back(all.from, 0);
    points.emplace_back(message.sent, before + static_cast<double>(message.bytes) / 1e6);
  }
  Plot plot{.title = all.name, .x_label = "simulated time [s]", .y_label = "sent [MB]", .lines = {}};
  for (auto& [kind, points] : of_kind) {
    points.emplace_back(all.until, points.back().second);
    if (points.back().second > 0) plot.lines.push_back({kind, std::move(points), true});
  }
  std::ranges::stable_sort(plot.lines, [](const Line& a, const Line& b) {
    return a.points.back().second > b.points.back().second;
  });
  constexpr std::size_t most = 6;
  if (plot.lines.size() <= most) return plot;
  plot.title += fmt::format("; {} smaller kinds left out", plot.lines.size() - most);
  plot.lines.resize(most);
  return plot;
}

// A line on a page has fewer than a thousand visible places; more points would not be seen.
void thin(Line& line) {
  constexpr std::size_t most = 2000;
  if (line.points.size() <= most) return;
  const std::size_t every = (line.points.size() + most - 1) / most;
  std::vector<std::pair<double, double>> kept;
  for (std::size_t i = 0; i < line.points.size(); i += every) kept.push_back(line.points[i]);
  if ((line.points.size() - 1) % every != 0) kept.push_back(line.points.back());
  line.points = std::move(kept);
}

}  // namespace

std::vector<Picture> pictures(const Recording& all, const Recording& window, double width_mm) {
  std::vector<Picture> made{{"timeline.svg", time_line(window, width_mm)}};
  const auto add = [&](const char* name, Plot plot) {
    std::ranges::for_each(plot.lines, thin);
    if (!plot.lines.empty()) made.push_back({name, svg(plot, width_mm)});
  };
  add("loss.svg", loss(all));
  add("staleness.svg", staleness(all));
  add("clocks.svg", clocks(all));
  add("traffic.svg", traffic(all));
  return made;
}

}  // namespace psim::analysis

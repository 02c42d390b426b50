// Figures of a run's page that need no program.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analysis/page/parts.hpp"
#include "analysis/page/plot.hpp"
#include "analysis/page/run_parts.hpp"

namespace psim::analysis {
namespace {

constexpr std::size_t still_columns = 500;  // of a time line that stands still

// The use that takes most of each column; none: nothing happens there.
std::vector<int> uses_of(const Lane& lane, double end) {
  std::vector<std::array<double, 5>> seconds(still_columns);
  const double width = end / still_columns;
  for (const Span& span : lane.spans) {
    const auto first = static_cast<std::size_t>(std::clamp(span.begin / width, 0.0, still_columns - 1.0));
    const auto last = static_cast<std::size_t>(std::clamp(span.end / width, 0.0, still_columns - 1.0));
    for (std::size_t i = first; i <= last; ++i) {
      const double from = std::max(span.begin, static_cast<double>(i) * width);
      const double to = std::min(span.end, static_cast<double>(i + 1) * width);
      seconds[i][static_cast<std::size_t>(span.use)] += std::max(0.0, to - from);
    }
  }
  std::vector<int> uses;
  for (const auto& column : seconds) {
    const auto most = std::ranges::max_element(column);
    uses.push_back(*most > 0 ? static_cast<int>(most - column.begin()) : -1);
  }
  return uses;
}

std::string lane_row(const Lane& lane, double end) {
  const std::vector<int> uses = uses_of(lane, end);
  std::array<std::string, 5> paths;
  for (std::size_t i = 0; i < still_columns;) {
    std::size_t next = i + 1;
    while (next < still_columns && uses[next] == uses[i]) ++next;
    if (uses[i] >= 0) paths[static_cast<std::size_t>(uses[i])] += fmt::format("M{} 0h{}v10h-{}z", i, next - i, next - i);
    i = next;
  }
  std::string out;
  for (const Use use : {Use::compute, Use::network, Use::wait, Use::service, Use::down}) {
    const std::string& path = paths[static_cast<std::size_t>(use)];
    if (!path.empty()) out += fmt::format("<path class=\"fill-{}\" d=\"{}\"/>", name_of(use), path);
  }
  return fmt::format(
      "<div class=\"row\"><span class=\"who\">{}</span><svg class=\"lane\" viewBox=\"0 0 {} 10\" "
      "preserveAspectRatio=\"none\" aria-hidden=\"true\">{}</svg></div>",
      escaped(lane.name), still_columns, out);
}

}  // namespace

WaitedFor waits_of(const Timeline& timeline) {
  WaitedFor waits;
  waits.seconds.assign(timeline.lanes.size(), std::vector<double>(timeline.lanes.size()));
  std::vector<double> awaited(timeline.lanes.size());
  const auto lane_of = [&](std::uint32_t node) {
    return static_cast<std::size_t>(std::ranges::find(timeline.lanes, node, &Lane::node) - timeline.lanes.begin());
  };
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    for (const Span& span : timeline.lanes[i].spans) {
      if (span.use != Use::wait) continue;
      const std::size_t other = lane_of(span.for_node);
      if (other >= awaited.size()) continue;
      waits.seconds[i][other] += span.end - span.begin;
      waits.total += span.end - span.begin;
      if (other != i) awaited[other] += span.end - span.begin;
    }
  }
  if (awaited.empty()) return waits;
  waits.most_awaited = static_cast<std::size_t>(std::ranges::max_element(awaited) - awaited.begin());
  waits.for_most = awaited[waits.most_awaited];
  return waits;
}

std::string lanes_figure(const Timeline& timeline) {
  std::string out = "<div id=\"timeline\" class=\"lanes\" role=\"img\" aria-label=\"What every node did when\">";
  for (const Lane& lane : timeline.lanes) {
    if (!lane.spans.empty()) out += lane_row(lane, timeline.end);
  }
  out += "<div class=\"row\"><span></span><span class=\"axis\">";
  const Scale scale(0, timeline.end);
  for (const double tick : scale.ticks())
    out += fmt::format("<span class=\"xtick\" style=\"left:{:.2f}%\">{:.4g}</span>", 100 * scale.share(tick), tick);
  return out + "</span></div></div>";
}

std::string waits_table(const RunView& view) {
  if (view.page.timeline == nullptr) return "";
  const Timeline& timeline = *view.page.timeline;
  const WaitedFor waits = waits_of(timeline);
  if (!(waits.total > 0)) return "";
  std::vector<std::size_t> awaited, waiting;
  double most = 0;
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    double by = 0, on = 0;
    for (std::size_t j = 0; j < timeline.lanes.size(); ++j) {
      by += waits.seconds[i][j];
      on += waits.seconds[j][i];
      most = std::max(most, waits.seconds[i][j]);
    }
    if (by > 0) waiting.push_back(i);
    if (on > 0) awaited.push_back(i);
  }
  constexpr std::size_t most_lanes = 40;
  if (awaited.size() > most_lanes || waiting.size() > most_lanes) return "";
  std::string out = "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"who waited for whom\"><table class=\"heat\"><thead><tr><th>waited [s] \\ for</th>";
  for (const std::size_t j : awaited) out += fmt::format("<th scope=\"col\">{}</th>", escaped(timeline.lanes[j].name));
  out += "</tr></thead><tbody>";
  for (const std::size_t i : waiting) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(timeline.lanes[i].name));
    for (const std::size_t j : awaited) {
      const double seconds = waits.seconds[i][j];
      if (!(seconds > 0)) out += "<td class=\"number\"></td>";
      else out += fmt::format("<td class=\"number\" style=\"--heat:{:.0f}%\" title=\"{} s\">{:.3g}</td>", 90 * seconds / most, seconds, seconds);
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

std::string workers_figure(const RunView& view) {
  constexpr std::size_t most = 64;
  const Json& workers = view.page.summary["workers"];
  std::string out = "<div class=\"uses one\">";
  for (std::size_t i = 0; i < std::min(most, workers.size()); ++i)
    out += fmt::format("<div class=\"row\"><span class=\"who\">worker {}</span>{}</div>", i,
                       share_bar(view.numbers, fmt::format("/workers/{}", i)));
  if (workers.size() > most) out += fmt::format("<p>... and {} more</p>", workers.size() - most);
  return out + "</div>";
}

std::string loss_figure(const RunView& view) {
  Extent x, y;
  Line line;
  for (const Json& point : view.page.summary["curve"]) {
    const Json loss = point.value("loss", Json());
    if (!loss.is_number() || !std::isfinite(loss.get<double>())) break;
    line.emplace_back(point["sim_time_s"].get<double>(), loss.get<double>());
    x.add(line.back().first);
    y.add(line.back().second);
  }
  if (line.size() < 2) return "";
  Plot plot(Scale(0, x.high), Scale(y.low, y.high, y.low > 0), "simulated time [s]", y.low > 0 ? "loss (log scale)" : "loss");
  plot.add_line(0, line);
  return "<div id=\"loss\" class=\"curves\">" + plot.html("Loss over simulated time") + "</div>";
}

std::string traffic_table(const RunView& view) {
  std::string out = "<table><thead><tr><th>kind of message</th><th>sent</th><th></th></tr></thead><tbody>";
  const Json& kinds = view.page.summary["bytes_by_kind"];
  const double all = view.page.summary["bytes_sent"];
  for (const auto& [kind, bytes] : kinds.items())
    out += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"sized\"><span style=\"width:{:.1f}%\"></span></td></tr>",
                       escaped(kind), view.numbers("/bytes_by_kind/" + kind, as_megabytes),
                       all > 0 ? 100 * bytes.get<double>() / all : 0);
  out += fmt::format("<tr><th scope=\"row\">all</th><td class=\"number\">{}</td><td></td></tr></tbody></table>",
                     view.numbers("/bytes_sent", as_megabytes));
  return out;
}

std::string recoveries_figure(const RunView& view) {
  if (!view.page.summary.contains("failures")) return "";
  const Json& recoveries = view.page.summary["failures"]["recoveries"];
  constexpr std::array<std::pair<const char*, const char*>, 4> parts{
      {{"detection_s", "detection"}, {"takeover_s", "takeover"}, {"transfer_s", "transfer"}, {"catch_up_s", "catch-up"}}};
  double longest = 0;
  for (const Json& one : recoveries) {
    if (one["total_s"].is_number()) longest = std::max(longest, one["total_s"].get<double>());
  }
  std::string out = recoveries.empty() ? "" : "<table class=\"recoveries\"><thead><tr><th>server</th><th>crash at</th>";
  if (recoveries.empty()) return out;
  for (const auto& [key, name] : parts) out += fmt::format("<th>{}</th>", name);
  out += "<th>in all</th><th></th></tr></thead><tbody>";
  for (std::size_t i = 0; i < recoveries.size(); ++i) {
    const std::string path = fmt::format("/failures/recoveries/{}", i);
    std::string bar;
    out += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td>", view.numbers(path + "/server"), view.numbers(path + "/at_s", as_seconds));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const Json& seconds = recoveries[i][parts[p].first];
      out += fmt::format("<td class=\"number\">{}</td>", view.numbers(fmt::format("{}/{}", path, parts[p].first), as_seconds));
      if (seconds.is_number() && longest > 0)
        bar += fmt::format("<span class=\"part s{}\" style=\"width:{:.2f}%\" title=\"{}\"><b>{}</b></span>", p, 100 * seconds.get<double>() / longest, parts[p].second, p + 1);
    }
    out += fmt::format("<td class=\"number\">{}</td><td class=\"sized\"><span class=\"bar\">{}</span></td></tr>", view.numbers(path + "/total_s", as_seconds), bar);
  }
  return out + "</tbody></table>";
}

}  // namespace psim::analysis

// Tables for the page of a run, and the places of its charts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/page/page.hpp"
#include "analysis/page/run_parts.hpp"
#include "analysis/render/html.hpp"
#include "analysis/study/figures.hpp"

namespace psim::analysis {
namespace {

constexpr Shape happened_at{.digits = 4, .unit = " s"};
// "takes over shard " of "takes over shard 1".
std::string without_number(const std::string& text) {
  return text.substr(0, text.find_last_not_of("0123456789") + 1);
}

}  // namespace

WaitedFor waits_of(const Json& why) {
  WaitedFor waits;
  if (!why.contains("waits")) return waits;
  std::map<std::string, double> awaited;
  for (const Json& one : why["waits"]) {
    const double seconds = one["seconds"];
    waits.total += seconds;
    const double whole = awaited[one["for"].get<std::string>()] += seconds;
    if (whole <= waits.for_most) continue;
    waits.for_most = whole;
    waits.most_awaited = one["for"];
  }
  return waits;
}

std::string happenings(const Timeline& timeline) {
  constexpr std::size_t most = 12;
  std::vector<std::pair<const Mark*, const Lane*>> marks;
  for (const Lane& lane : timeline.lanes) {
    for (const Mark& mark : lane.marks) {
      if (mark.kind != "update" && mark.kind != "done") marks.emplace_back(&mark, &lane);
    }
  }
  std::ranges::stable_sort(marks, {}, [](const auto& one) { return one.first->at; });
  const auto same_line = [](const auto& a, const auto& b) {
    return a.second == b.second && without_number(in_words(*a.first)) == without_number(in_words(*b.first)) &&
           shown(a.first->at, happened_at) == shown(b.first->at, happened_at);
  };
  std::string rows;
  std::size_t lines = 0, next = 0;
  for (std::size_t i = 0; i < marks.size() && lines < most; i = next, ++lines) {
    const auto& [mark, lane] = marks[i];
    for (next = i + 1; next < marks.size() && same_line(marks[i], marks[next]);) ++next;
    const std::string text = in_words(*mark), last = in_words(*marks[next - 1].first);
    rows += fmt::format(
        "<tr><td class=\"number\" title=\"{} s\">{}</td><td class=\"text\">{}</td><td "
        "class=\"text\">{}</td></tr>",
        mark->at, shown(mark->at, happened_at), escaped(lane->name),
        escaped(text == last ? text
                             : fmt::format("{} to {}", text, last.substr(without_number(last).size()))));
  }
  if (rows.empty()) return "";
  const std::string more =
      next < marks.size() ? fmt::format("<p class=\"hint\">... and {} more</p>", marks.size() - next) : "";
  return fmt::format(
      "<details id=\"happened\" open><summary>What happened</summary><div "
      "class=\"wide\"><table><tbody>{}</tbody></table></div>{}</details>",
      rows, more);
}

// A number with the decimals that give the largest number of its table three digits; "< 0.01" if it would
// print as 0.
std::string beside(const Json& seconds, double largest) {
  constexpr int digits = 3;
  const int decimals =
      largest > 0 ? std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(largest))), 0, 9) : 0;
  const double least = std::pow(10, -decimals), value = seconds.get<double>();
  if (value > 0 && value < least / 2) return fmt::format("&lt; {:.{}f}", least, decimals);
  return shown(seconds, {.decimals = decimals});
}

std::string waits_table(const RunView& view) {
  struct Waits {
    double seconds = 0;
    std::int64_t count = 0;
  };
  std::vector<std::string> awaited;
  std::map<std::int64_t, std::map<std::string, Waits>> waits;  // by worker and node; kinds added up
  double most = 0;
  const Json& all = view.page.why.contains("waits") ? view.page.why["waits"] : Json::array();
  for (const Json& one : all) {
    const std::string name = one["for"];
    add_once(awaited, name);
    Waits& sum = waits[one["worker"].get<std::int64_t>()][name];
    sum.seconds += one["seconds"].get<double>();
    sum.count += one["count"].get<std::int64_t>();
    most = std::max(most, sum.seconds);
  }
  constexpr std::size_t most_names = 40;
  if (awaited.empty() || awaited.size() > most_names || waits.size() > most_names) return "";
  std::ranges::sort(awaited);
  std::string rows, heads;
  for (const std::string& name : awaited) heads += fmt::format("<th scope=\"col\">{}</th>", escaped(name));
  for (const auto& [worker, whom] : waits) {
    rows += fmt::format("<tr><th scope=\"row\">worker {}</th>", worker);
    for (const std::string& name : awaited) {
      const auto found = whom.find(name);
      if (found == whom.end()) {
        rows += "<td class=\"number\"></td>";
        continue;
      }
      const auto& [seconds, count] = found->second;
      rows += fmt::format("<td class=\"number\" style=\"--heat:{:.0f}%\" title=\"{} s, {} time{}\">{}</td>",
                          most > 0 ? 90 * seconds / most : 0, Json(seconds).dump(), count,
                          count == 1 ? "" : "s", beside(seconds, most));
    }
    rows += "</tr>";
  }
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"who held up whom\"><table "
      "class=\"heat\"><thead><tr>{}{}</tr></thead><tbody>{}</tbody></table></div>",
      head("held up by"), heads, rows);
}

std::string path_table(const RunView& view) {
  constexpr std::size_t most = 8;
  std::string rows;
  const Json& all = view.page.why.contains("shares") ? view.page.why["shares"] : Json::array();
  double longest = 0;
  for (const Json& one : all) longest = std::max(longest, one["seconds"].get<double>());
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    const double percent = 100 * all[i]["share"].get<double>();
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td class=\"number\" title=\"{} s\">{} s</td>"
        "<td class=\"number\">{:.0f} %</td><td class=\"sized\"><span "
        "style=\"width:{:.1f}%\"></span></td></tr>",
        escaped(all[i]["node"].get<std::string>()), escaped(all[i]["kind"].get<std::string>()),
        all[i]["seconds"].dump(), beside(all[i]["seconds"], longest), percent, percent);
  }
  return rows.empty() ? ""
                      : fmt::format(
                            "<div class=\"wide\"><table><thead><tr>{}{}{}{}<th></th></tr></thead>"
                            "<tbody>{}</tbody></table></div>",
                            head("on the critical path"), head("what"), head(ColumnName("time", "psim why")),
                            head("share"), rows);
}

std::string workers_figure(const RunView& view) {
  constexpr std::size_t most = 64;
  return "<div class=\"uses one\">" +
         share_bars(view.numbers, "", view.page.summary["workers"].size(), most) + "</div>";
}

std::vector<std::pair<double, std::string>> dates_of(const Json& summary) {
  constexpr std::size_t most = 20;
  constexpr double apart = 0.02;  // of the run's length: nearer names would cover each other
  std::vector<std::pair<double, std::string>> dates;
  const Json all = summary.contains("failures") ? summary["failures"]["recoveries"] : Json::array();
  const double room = apart * summary["sim_time_s"].get<double>();
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    double at = all[i]["at_s"].get<double>();
    dates.emplace_back(at, i == 0 ? "crash" : "");
    if (i > 0) continue;
    using Phases = std::vector<std::pair<const char*, const char*>>;
    const Phases parts = all[i].contains("worker")
                             ? Phases{{"detection_s", "detected"}, {"reforming_s", "new group"}}
                             : Phases{{"detection_s", "detected"}, {"takeover_s", "taken over"}};
    for (const auto& [key, name] : parts) {
      if (!all[i][key].is_number()) break;
      at += all[i][key].get<double>();
      if (at - dates.back().first < room) dates.back().second += fmt::format(", {}", name);
      else dates.emplace_back(at, name);
    }
  }
  return dates;
}

std::string loss_figure(const RunView& view) {
  Plot plot{.title = "", .x_label = "simulated time [s]", .y_label = "loss", .lines = {{}}};
  auto& points = plot.lines.front().points;
  for (const Json& point : view.page.summary["curve"]) {
    const Json loss = point.value("loss", Json());
    if (!loss.is_number() || !std::isfinite(loss.get<double>())) break;
    points.emplace_back(point["sim_time_s"].get<double>(), loss.get<double>());
  }
  if (points.size() < 2) return "";
  plot.logarithmic = std::ranges::all_of(points, [](const auto& point) { return point.second > 0; });
  return fmt::format(
      "<div class=\"charts\"><div><h3>Loss</h3><div id=\"loss\" class=\"curves\">{}</div></div></div>",
      still_picture(plot, "Loss over simulated time"));
}

std::string staleness_figure(const RunView& view) {
  const bool is_stale = view.page.summary["staleness"].value("histogram", Json::array()).size() > 1;
  return is_stale ? "<div id=\"histogram\" class=\"curves\"></div>" : "";
}

std::string traffic_table(const RunView& view) {
  std::string out = "<div class=\"wide\"><table><thead><tr>" + head("kind of message") +
                    head(ColumnName("sent", "a report")) + "<th></th></tr></thead><tbody>";
  const Json& kinds = view.page.summary["bytes_by_kind"];
  const double all = view.page.summary["bytes_sent"];
  for (const auto& [kind, bytes] : kinds.items())
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"sized\"><span "
        "style=\"width:{:.1f}%\"></span></td></tr>",
        escaped(kind), view.numbers("/bytes_by_kind/" + kind, as_megabytes),
        all > 0 ? 100 * bytes.get<double>() / all : 0);
  out += fmt::format(
      "<tr><th scope=\"row\">all</th><td class=\"number\">{}</td><td></td></tr></tbody></table></div>",
      view.numbers("/bytes_sent"_summary, as_megabytes));
  return out;
}

std::string recoveries_figure(const RunView& view) {
  if (!view.page.summary.contains("failures")) return "";
  const Json& recoveries = view.page.summary["failures"]["recoveries"];
  struct Phase {
    const char* key;
    ColumnName name;
  };
  using Phases = std::vector<Phase>;
  const bool of_workers = !recoveries.empty() && recoveries[0].contains("worker");
  const Phases parts =
      of_workers
          ? Phases{{"detection_s", "detection"}, {"reforming_s", "re-forming"}, {"lost_work_s", "lost work"}}
          : Phases{{"detection_s", "detection"},
                   {"takeover_s", "takeover"},
                   {"transfer_s", "transfer"},
                   {"catch_up_s", "catch-up"}};
  const ColumnName who = of_workers ? ColumnName("worker") : ColumnName("server");
  double longest = 0;
  for (const Json& one : recoveries) {
    if (one["total_s"].is_number()) longest = std::max(longest, one["total_s"].get<double>());
  }
  if (recoveries.empty()) return "";
  std::string out =
      "<div class=\"wide\"><table class=\"recoveries\"><thead><tr>" + head(who) + head("crash at");
  for (const auto& [key, name] : parts) out += head(name);
  out += head("in all") + "<th></th></tr></thead><tbody>";
  for (std::size_t i = 0; i < recoveries.size(); ++i) {
    const std::string path = fmt::format("/failures/recoveries/{}", i);
    std::string bar;
    out += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td>",
                       view.numbers(fmt::format("{}/{}", path, who.name())),
                       view.numbers(path + "/at_s", as_seconds));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const Json& seconds = recoveries[i][parts[p].key];
      out += fmt::format("<td class=\"number\">{}</td>",
                         view.numbers(fmt::format("{}/{}", path, parts[p].key), as_seconds));
      if (seconds.is_number() && longest > 0)
        bar += fmt::format("<span class=\"part s{}\" style=\"width:{:.2f}%\" title=\"{}\"><b>{}</b></span>",
                           p, 100 * seconds.get<double>() / longest, parts[p].name.name(), p + 1);
    }
    out +=
        fmt::format("<td class=\"number\">{}</td><td class=\"sized\"><span class=\"bar\">{}</span></td></tr>",
                    view.numbers(path + "/total_s", as_seconds), bar);
  }
  return out + "</tbody></table></div>";
}

}  // namespace psim::analysis

#include "analysis/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace psim::analysis {
namespace {

// Simulated seconds that count for a run: to its target, or its whole length when it has none.
std::optional<double> time_of(const Json& summary) {
  const Json& target = summary["target"];
  if (!target["given"]) return summary["sim_time_s"].get<double>();
  if (!target["reached"]) return std::nullopt;
  return target["sim_time_s"].get<double>();
}

template <class F>
Statistic over(const std::vector<const ComparedRun*>& runs, F&& value) {
  std::vector<double> values;
  for (const ComparedRun* run : runs) values.push_back(value(run->summary));
  return statistic(values);
}

Group make_group(const std::vector<const ComparedRun*>& runs) {
  Group group{.point = runs.front()->point, .runs = runs.size()};
  std::vector<double> times, accuracies;
  for (const ComparedRun* run : runs) {
    const Json& s = run->summary;
    if (const std::optional<double> time = time_of(s)) times.push_back(*time);
    if (s["target"]["reached"]) ++group.reached;
    if (!s["final"]["accuracy"].is_null()) accuracies.push_back(s["final"]["accuracy"]);
    group.staleness_max = std::max(group.staleness_max, s["staleness"]["max"].get<double>());
  }
  if (!times.empty()) group.time = statistic(times);
  if (!accuracies.empty()) group.accuracy = statistic(accuracies);
  group.updates = over(runs, [](const Json& s) { return s["updates"].get<double>(); });
  group.staleness = over(runs, [](const Json& s) { return s["staleness"]["mean"].get<double>(); });
  group.wait = over(runs, [](const Json& s) { return 100 * s["time"]["wait_share"].get<double>(); });
  group.bytes = over(runs, [](const Json& s) { return s["bytes_sent"].get<double>(); });
  group.loss = over(runs, [](const Json& s) { return s["final"]["loss"].is_null() ? 0.0 : s["final"]["loss"].get<double>(); });
  return group;
}

// Runs with the same seed met the same data, draws and stragglers: their ratio says more than that of means.
std::optional<Statistic> relative_to(const std::vector<const ComparedRun*>& runs, const std::vector<const ComparedRun*>& fastest) {
  std::map<std::int64_t, double> reference;
  for (const ComparedRun* run : fastest) {
    if (const auto time = time_of(run->summary)) reference[run->seed] = *time;
  }
  std::vector<double> ratios;
  for (const ComparedRun* run : runs) {
    const auto time = time_of(run->summary);
    const auto other = reference.find(run->seed);
    if (time && other != reference.end() && other->second > 0) ratios.push_back(*time / other->second);
  }
  if (ratios.empty()) return std::nullopt;
  return statistic(ratios);
}

std::string text_of(const Statistic& s, int decimals) {
  std::string text = fmt::format("{:.{}f}", s.mean, decimals);
  if (s.sd) text += fmt::format(" ± {:.{}f}", *s.sd, decimals);
  return text;
}

// Enough decimals to show three digits of a mean.
int decimals_for(double value) {
  if (!(std::abs(value) > 0)) return 1;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(value)))), 0, 6);
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Json json_of(const std::optional<Statistic>& s) {
  if (!s) return nullptr;
  return {{"mean", s->mean}, {"sd", s->sd ? Json(*s->sd) : Json(nullptr)}, {"n", s->count}};
}

}  // namespace

Statistic statistic(const std::vector<double>& values) {
  Statistic result{.mean = 0, .sd = std::nullopt, .count = values.size()};
  if (values.empty()) return result;
  for (const double v : values) result.mean += v;
  result.mean /= static_cast<double>(values.size());
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double v : values) squares += (v - result.mean) * (v - result.mean);
  result.sd = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

Comparison compare(std::vector<std::string> axes, std::vector<ComparedRun> runs) {
  Comparison result{.axes = std::move(axes), .has_target = false, .runs = std::move(runs), .groups = {}};
  std::vector<std::vector<const ComparedRun*>> members;
  for (const ComparedRun& run : result.runs) {
    if (run.summary["target"]["given"]) result.has_target = true;
    const auto same = std::ranges::find_if(members, [&](const auto& m) { return m.front()->point == run.point; });
    if (same == members.end()) members.push_back({&run});
    else same->push_back(&run);
  }
  for (const auto& runs_of_group : members) result.groups.push_back(make_group(runs_of_group));

  // The fastest is the one with the least mean among those that reached the target most often.
  std::size_t fastest = 0;
  const auto rank = [&](const Group& g) { return std::pair(-static_cast<double>(g.time ? g.time->count : 0), g.time ? g.time->mean : HUGE_VAL); };
  for (std::size_t i = 1; i < result.groups.size(); ++i) {
    if (rank(result.groups[i]) < rank(result.groups[fastest])) fastest = i;
  }
  for (std::size_t i = 0; i < members.size(); ++i) result.groups[i].relative = relative_to(members[i], members[fastest]);
  return result;
}

std::string table(const Comparison& c) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> header;
  for (const std::string& axis : c.axes) header.push_back(axis.substr(axis.rfind('.') + 1));
  if (header.empty()) header.emplace_back("scenario");
  const std::size_t labels = header.size();
  header.insert(header.end(), {c.has_target ? "time to target [s]" : "time [s]", "relative", "reached", "updates", "staleness", "max", "wait [%]", "sent [MB]", "final loss", "accuracy [%]"});
  const bool has_accuracy = std::ranges::any_of(c.groups, [](const Group& g) { return g.accuracy.has_value(); });
  if (!has_accuracy) header.pop_back();
  double slowest = 0;
  for (const Group& g : c.groups) slowest = std::max(slowest, g.time ? g.time->mean : 0);
  for (const Group& g : c.groups) {
    std::vector<std::string> row = g.point.empty() ? std::vector<std::string>{"as it is"} : g.point;
    row.push_back(g.time ? text_of(*g.time, decimals_for(slowest)) : "not reached");
    row.push_back(g.relative ? text_of(*g.relative, 2) : "-");
    row.push_back(c.has_target ? fmt::format("{}/{}", g.reached, g.runs) : "-");
    row.push_back(text_of(g.updates, 0));
    row.push_back(text_of(g.staleness, 2));
    row.push_back(fmt::format("{:.0f}", g.staleness_max));
    row.push_back(text_of(g.wait, 1));
    row.push_back(fmt::format("{:.4g}", g.bytes.mean / 1e6));
    row.push_back(text_of(g.loss, 4));
    if (has_accuracy) row.push_back(g.accuracy ? text_of({g.accuracy->mean * 100, g.accuracy->sd ? std::optional(*g.accuracy->sd * 100) : std::nullopt, g.accuracy->count}, 2) : "-");
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::size_t width = width_of(header[i]);
    for (const auto& row : rows) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(widths[i] - width_of(cells[i]), ' ');
      out += i < labels ? fmt::format("| {}{} ", cells[i], pad) : fmt::format("| {}{} ", pad, cells[i]);
    }
    out += "|\n";
  };
  line(header);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string dashes(widths[i] + 1, '-');
    out += i < labels ? fmt::format("|:{}", dashes) : fmt::format("|{}:", dashes);
  }
  out += "|\n";
  for (const auto& row : rows) line(row);
  for (const Group& g : c.groups) {
    if (!c.has_target || g.reached == g.runs) continue;
    out += fmt::format("{}: {} of {} seeds did not reach the target", g.point.empty() ? "as it is" : g.point.front(), g.runs - g.reached, g.runs);
    out += g.reached > 0 ? fmt::format("; its time is over the {} that did\n", g.reached) : "\n";
  }
  return out;
}

Json document(const Comparison& c) {
  Json runs = Json::array(), groups = Json::array();
  const auto point = [&](const std::vector<std::string>& values) {
    Json json = Json::object();
    for (std::size_t i = 0; i < c.axes.size(); ++i) json[c.axes[i]] = values[i];
    return json;
  };
  for (const ComparedRun& run : c.runs) {
    Json entry = {{"point", point(run.point)}};
    entry.update(run.summary);
    runs.push_back(std::move(entry));
  }
  for (const Group& g : c.groups) {
    groups.push_back({{"point", point(g.point)}, {"runs", g.runs}, {"reached", g.reached}, {"time_s", json_of(g.time)},
                      {"relative", json_of(g.relative)}, {"updates", json_of(g.updates)}, {"staleness", json_of(g.staleness)},
                      {"staleness_max", g.staleness_max}, {"wait_percent", json_of(g.wait)}, {"bytes_sent", json_of(g.bytes)},
                      {"final_loss", json_of(g.loss)}, {"final_accuracy", json_of(g.accuracy)}});
  }
  return {{"schema", "psim.compare/1"}, {"axes", c.axes}, {"runs", runs}, {"aggregates", groups}};
}

}  // namespace psim::analysis

#include "analysis/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "model/mutant.hpp"

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

// Over the runs whose summary has this part, and in it anything that `value` is about.
template <class F>
std::optional<Statistic> of_part(const std::vector<const ComparedRun*>& runs, const char* part, F&& value) {
  std::vector<double> values;
  for (const ComparedRun* run : runs) {
    if (!run->summary.contains(part)) continue;
    if (const Json number = value(run->summary[part]); !number.is_null()) values.push_back(number);
  }
  return values.empty() ? std::nullopt : std::optional(statistic(values));
}

// Mean over a run's crashes of servers, if all of them were made good.
Json mean_recovery(const Json& failures) {
  double sum = 0;
  for (const Json& one : failures["recoveries"]) {
    if (one["total_s"].is_null()) return nullptr;
    sum += one["total_s"].get<double>();
  }
  const auto count = static_cast<double>(failures["recoveries"].size());
  return count > 0 ? Json(sum / count) : Json(nullptr);
}

void add_failures(Group& group, const std::vector<const ComparedRun*>& runs) {
  const auto count = [&](const char* key) {
    return of_part(runs, "failures", [=](const Json& f) { return f[key]; });
  };
  group.copied = of_part(runs, "failures", [](const Json& f) {
    return Json(f["replication_bytes"].get<double>() + f["state_bytes"].get<double>());
  });
  group.suspicions = count("suspicions");
  group.false_suspicions = count("false_suspicions");
  group.recovery = of_part(runs, "failures", mean_recovery);
}

Group make_group(const std::vector<const ComparedRun*>& runs) {
  Group group{.point = runs.front()->point, .runs = runs.size()};
  std::vector<double> times, losses, accuracies;
  for (const ComparedRun* run : runs) {
    const Json& s = run->summary;
    if (const std::optional<double> time = time_of(s)) times.push_back(*time);
    if (s["target"]["reached"]) ++group.reached;
    if (!s["final"]["loss"].is_null()) losses.push_back(s["final"]["loss"]);
    if (!s["final"]["accuracy"].is_null()) accuracies.push_back(s["final"]["accuracy"]);
    group.staleness_max = std::max(group.staleness_max, s["staleness"]["max"].get<double>());
  }
  if (!times.empty()) group.time = statistic(times);
  if (!losses.empty()) group.loss = statistic(losses);
  if (!accuracies.empty()) group.accuracy = statistic(accuracies);
  group.updates = over(runs, [](const Json& s) { return s["updates"].get<double>(); });
  group.per_update = over(runs, [](const Json& s) {
    const auto updates = s["updates"].get<double>();
    return updates > 0 ? s["sim_time_s"].get<double>() / updates : 0.0;
  });
  group.staleness = over(runs, [](const Json& s) { return s["staleness"]["mean"].get<double>(); });
  group.wait = over(runs, [](const Json& s) { return 100 * s["time"]["wait_share"].get<double>(); });
  group.absent = over(runs, [](const Json& s) { return 100 * s["time"].value("absent_share", 0.0); });
  group.bytes = over(runs, [](const Json& s) { return s["bytes_sent"].get<double>(); });
  group.latency = of_part(runs, "inference", [](const Json& s) { return s["latency_s"]["mean"]; });
  group.served_staleness = of_part(runs, "inference", [](const Json& s) { return s["staleness"]["mean"]; });
  group.served_accuracy = of_part(runs, "inference", [](const Json& s) { return s["accuracy"]; });
  add_failures(group, runs);
  return group;
}

// Runs with the same seed met the same data, draws and stragglers: their ratio says more than that of means.
std::optional<Statistic> relative_to(const std::vector<const ComparedRun*>& runs,
                                     const std::vector<const ComparedRun*>& fastest) {
  std::map<std::int64_t, double> reference;
  for (const ComparedRun* run : fastest) {
    if (const auto time = time_of(run->summary)) reference[run->seed] = *time;
  }
  std::vector<double> ratios;
  for (const ComparedRun* run : runs) {
    const auto time = time_of(run->summary);
    const auto other = mutant("seeds-are-not-paired") ? reference.begin() : reference.find(run->seed);
    if (time && other != reference.end() && other->second > 0) ratios.push_back(*time / other->second);
  }
  if (ratios.empty()) return std::nullopt;
  return statistic(ratios);
}

Statistic scaled(Statistic s, double factor) {
  s.mean *= factor;
  if (s.sd) *s.sd *= factor;
  return s;
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
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
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
  result.sd = std::sqrt(squares / static_cast<double>(values.size() - (mutant("deviation-of-all") ? 0 : 1)));
  return result;
}

Comparison compare(std::vector<std::string> axes, std::vector<ComparedRun> runs) {
  Comparison result{.axes = std::move(axes), .has_target = false, .runs = std::move(runs), .groups = {}};
  std::vector<std::vector<const ComparedRun*>> members;
  for (const ComparedRun& run : result.runs) {
    if (run.summary["target"]["given"]) result.has_target = true;
    const auto same =
        std::ranges::find_if(members, [&](const auto& m) { return m.front()->point == run.point; });
    if (same == members.end()) members.push_back({&run});
    else same->push_back(&run);
  }
  for (const auto& runs_of_group : members) result.groups.push_back(make_group(runs_of_group));

  // The fastest is the one with the least mean among those that reached the target most often.
  std::size_t fastest = 0;
  const auto rank = [&](const Group& g) {
    return std::pair(-static_cast<double>(g.time ? g.time->count : 0), g.time ? g.time->mean : HUGE_VAL);
  };
  for (std::size_t i = 1; i < result.groups.size(); ++i) {
    if (rank(result.groups[i]) < rank(result.groups[fastest])) fastest = i;
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    result.groups[i].relative = relative_to(members[i], members[fastest]);
  return result;
}

namespace {

// A column of the table: its heading, and a group's cell.
struct Column {
  std::string heading;
  bool is_label;
  std::function<std::string(const Group&)> cell;
};

// What there is to say about failures, if anybody was suspected, anything copied, any server made good.
std::vector<Column> failure_columns(const Comparison& c) {
  const auto any = [&](auto member) {
    return std::ranges::any_of(c.groups, [=](const Group& g) { return g.*member && (g.*member)->mean > 0; });
  };
  std::vector<Column> columns;
  if (any(&Group::copied))
    columns.push_back({"copied [MB]", false, [](const Group& g) {
                         return g.copied ? fmt::format("{:.4g}", g.copied->mean / 1e6) : "-";
                       }});
  if (any(&Group::suspicions))
    columns.push_back({"suspected (falsely)", false, [](const Group& g) {
                         if (!g.suspicions) return std::string("-");
                         return fmt::format("{:.1f} ({:.1f})", g.suspicions->mean, g.false_suspicions->mean);
                       }});
  if (any(&Group::recovery))
    columns.push_back(
        {"recovery [s]", false, [](const Group& g) { return g.recovery ? text_of(*g.recovery, 2) : "-"; }});
  return columns;
}

std::vector<Column> columns_of(const Comparison& c) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < c.axes.size(); ++i) {
    columns.push_back(
        {c.axes[i].substr(c.axes[i].rfind('.') + 1), true, [i](const Group& g) { return g.point[i]; }});
  }
  if (c.axes.empty())
    columns.push_back({"scenario", true, [](const Group&) { return std::string("as it is"); }});
  double slowest = 0;
  for (const Group& g : c.groups) slowest = std::max(slowest, g.time ? g.time->mean : 0);
  const auto any = [&](auto member) {
    return std::ranges::any_of(c.groups, [=](const Group& g) { return (g.*member).has_value(); });
  };
  const auto add = [&](std::string heading, std::function<std::string(const Group&)> cell) {
    columns.push_back({std::move(heading), false, std::move(cell)});
  };

  add(c.has_target ? "time to target [s]" : "time [s]",
      [=](const Group& g) { return g.time ? text_of(*g.time, decimals_for(slowest)) : "not reached"; });
  add("relative", [](const Group& g) { return g.relative ? text_of(*g.relative, 2) : "-"; });
  if (c.has_target) add("reached", [](const Group& g) { return fmt::format("{}/{}", g.reached, g.runs); });
  add("updates", [](const Group& g) { return text_of(g.updates, 0); });
  if (!c.has_target)
    add("per update [ms]", [](const Group& g) {
      return text_of(scaled(g.per_update, 1e3), decimals_for(1e3 * g.per_update.mean));
    });
  add("staleness (max)",
      [](const Group& g) { return fmt::format("{} ({:.0f})", text_of(g.staleness, 2), g.staleness_max); });
  add("wait [%]", [](const Group& g) { return text_of(g.wait, 1); });
  if (std::ranges::any_of(c.groups, [](const Group& g) { return g.absent.mean > 0; }))
    add("absent [%]", [](const Group& g) { return text_of(g.absent, 1); });
  add("sent [MB]", [](const Group& g) { return fmt::format("{:.4g}", g.bytes.mean / 1e6); });
  if (any(&Group::loss)) add("final loss", [](const Group& g) { return g.loss ? text_of(*g.loss, 4) : "-"; });
  if (any(&Group::accuracy))
    add("accuracy [%]",
        [](const Group& g) { return g.accuracy ? text_of(scaled(*g.accuracy, 100), 2) : "-"; });
  const auto add_served = [&](std::string heading, auto member, double factor) {
    if (!any(member)) return;
    add(std::move(heading), [=](const Group& g) {
      const std::optional<Statistic>& s = g.*member;
      return s ? text_of(scaled(*s, factor), 2) : std::string("-");
    });
  };
  add_served("answer [ms]", &Group::latency, 1e3);
  add_served("served staleness", &Group::served_staleness, 1);
  add_served("served accuracy [%]", &Group::served_accuracy, 100);
  std::ranges::move(failure_columns(c), std::back_inserter(columns));
  return columns;
}

}  // namespace

std::string table(const Comparison& c) {
  const std::vector<Column> columns = columns_of(c);
  std::vector<std::size_t> widths;
  for (const Column& column : columns) {
    std::size_t width = width_of(column.heading);
    for (const Group& g : c.groups) width = std::max(width, width_of(column.cell(g)));
    widths.push_back(width);
  }
  std::string out;
  const auto row = [&](const std::function<std::string(const Column&)>& cell) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string text = cell(columns[i]), pad(widths[i] - width_of(text), ' ');
      out += columns[i].is_label ? fmt::format("| {}{} ", text, pad) : fmt::format("| {}{} ", pad, text);
    }
    out += "|\n";
  };
  row([](const Column& column) { return column.heading; });
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string dashes(widths[i] + 1, '-');
    out += columns[i].is_label ? fmt::format("|:{}", dashes) : fmt::format("|{}:", dashes);
  }
  out += "|\n";
  for (const Group& g : c.groups) row([&](const Column& column) { return column.cell(g); });
  for (const Group& g : c.groups) {
    if (!c.has_target || g.reached == g.runs) continue;
    out += fmt::format("{}: {} of {} seeds did not reach the target", fmt::join(g.point, ", "),
                       g.runs - g.reached, g.runs);
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
    Json group = {{"point", point(g.point)},
                  {"runs", g.runs},
                  {"reached", g.reached},
                  {"time_s", json_of(g.time)},
                  {"relative", json_of(g.relative)},
                  {"updates", json_of(g.updates)},
                  {"s_per_update", json_of(g.per_update)},
                  {"staleness", json_of(g.staleness)},
                  {"staleness_max", g.staleness_max},
                  {"wait_percent", json_of(g.wait)},
                  {"absent_percent", json_of(g.absent)},
                  {"bytes_sent", json_of(g.bytes)},
                  {"final_loss", json_of(g.loss)},
                  {"final_accuracy", json_of(g.accuracy)}};
    if (g.latency) {
      group["answer_latency_s"] = json_of(g.latency);
      group["served_staleness"] = json_of(g.served_staleness);
      group["served_accuracy"] = json_of(g.served_accuracy);
    }
    if (g.copied) {
      group["copied_bytes"] = json_of(g.copied);
      group["suspicions"] = json_of(g.suspicions);
      group["false_suspicions"] = json_of(g.false_suspicions);
      group["recovery_s"] = json_of(g.recovery);
    }
    groups.push_back(std::move(group));
  }
  return {{"schema", "psim.compare/1"}, {"axes", c.axes}, {"runs", runs}, {"aggregates", groups}};
}

}  // namespace psim::analysis

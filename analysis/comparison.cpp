#include "analysis/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "model/mutant.hpp"

namespace psim::analysis {
namespace {

Json stuck_in(const Json& summary) { return summary.value("stuck", Json::array()); }

// Simulated seconds that count for a run: to its target, or its whole length when it has none. One that got
// stuck without a target has no time: its length is what psim's patience makes it.
std::optional<double> time_of(const Json& summary) {
  const Json& target = summary["target"];
  if (!target["given"] && !stuck_in(summary).empty()) return std::nullopt;
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
  std::vector<double> times, at_least, losses, accuracies;
  for (const ComparedRun* run : runs) {
    const Json& s = run->summary;
    const std::optional<double> time = time_of(s);
    if (time) times.push_back(*time);
    at_least.push_back(time.value_or(s["sim_time_s"].get<double>()));
    if (s["target"]["reached"]) ++group.reached;
    if (!s["final"]["loss"].is_null()) losses.push_back(s["final"]["loss"]);
    if (!s["final"]["accuracy"].is_null()) accuracies.push_back(s["final"]["accuracy"]);
    group.staleness_max = std::max(group.staleness_max, s["staleness"]["max"].get<double>());
  }
  group.time_at_least = statistic(at_least);
  if (times.size() == runs.size()) group.time = group.time_at_least;
  if (!losses.empty()) group.loss = statistic(losses);
  if (!accuracies.empty()) group.accuracy = statistic(accuracies);
  group.updates = over(runs, [](const Json& s) { return s["updates"].get<double>(); });
  group.per_update = over(runs, [](const Json& s) {
    const auto updates = s["updates"].get<double>();
    return updates > 0 ? s["sim_time_s"].get<double>() / updates : 0.0;
  });
  group.staleness = over(runs, [](const Json& s) { return s["staleness"]["mean"].get<double>(); });
  const auto share = [&](const char* part) {
    return over(runs, [=](const Json& s) { return 100 * s["time"].value(part, 0.0); });
  };
  group.compute = share("compute_share");
  group.wait = share("wait_share");
  group.network = share("network_share");
  group.absent = share("absent_share");
  group.bytes = over(runs, [](const Json& s) { return s["bytes_sent"].get<double>(); });
  group.latency = of_part(runs, "inference", [](const Json& s) { return s["latency_s"]["mean"]; });
  group.served_staleness = of_part(runs, "inference", [](const Json& s) { return s["staleness"]["mean"]; });
  group.served_accuracy = of_part(runs, "inference", [](const Json& s) { return s["accuracy"]; });
  add_failures(group, runs);
  return group;
}

// Runs with the same seed met the same data, draws and stragglers: their ratio says more than that of means.
// Nothing unless every seed has a time in both: a mean over the others would be one over lucky seeds.
std::optional<Statistic> relative_to(const std::vector<const ComparedRun*>& runs,
                                     const std::vector<const ComparedRun*>& reference) {
  std::map<std::int64_t, double> times;
  for (const ComparedRun* run : reference) {
    if (const auto time = time_of(run->summary)) times[run->seed] = *time;
  }
  std::vector<double> ratios;
  for (const ComparedRun* run : runs) {
    const auto time = time_of(run->summary);
    const auto other = mutant("seeds-are-not-paired") ? times.begin() : times.find(run->seed);
    if (!time || other == times.end() || !(other->second > 0)) return std::nullopt;
    ratios.push_back(*time / other->second);
  }
  return statistic(ratios);
}

// Runs whose pushes are acknowledged differently differ in messages and times by that alone.
std::optional<ComparedNote> note_on_acknowledgement(const std::vector<ComparedRun>& runs) {
  const auto how = [](const ComparedRun& run) { return run.summary.value("acknowledgement", "none"); };
  const auto other =
      std::ranges::find_if(runs, [&](const ComparedRun& run) { return how(run) != how(runs.front()); });
  if (other == runs.end() || mutant("acks-are-not-compared")) return std::nullopt;
  const auto same = [&](const ComparedRun& run) { return how(run) == how(*other); };
  return ComparedNote{
      .name = "acknowledgement",
      .text = "these runs do not acknowledge pushes alike (acknowledgement in summary.json: " + how(*other) +
              ", in the first run " + how(runs.front()) +
              "): that alone makes their messages and times differ",
      .point = other->point,
      .seed = other->seed,
      .runs = static_cast<std::size_t>(std::ranges::count_if(runs, same))};
}

// Each kind of note once; first, that runs got stuck.
std::vector<ComparedNote> notes_of(const std::vector<ComparedRun>& runs) {
  std::vector<ComparedNote> notes;
  const auto add = [&notes](const ComparedRun& run, const std::string& name, std::string text) {
    const auto same = std::ranges::find(notes, name, &ComparedNote::name);
    if (same != notes.end()) ++same->runs;
    else notes.push_back({.name = name, .text = std::move(text), .point = run.point, .seed = run.seed});
  };
  for (const ComparedRun& run : runs) {
    const Json stuck = stuck_in(run.summary);
    if (!stuck.empty()) add(run, "stuck", "stuck: " + stuck.front().get<std::string>());
  }
  for (const ComparedRun& run : runs) {
    std::set<std::string> here;  // a run may have several notes of a kind
    for (const Json& note : run.summary.at("notes")) {
      const std::string name = note["name"];
      if (here.insert(name).second) add(run, name, note["text"]);
    }
  }
  if (auto note = note_on_acknowledgement(runs)) notes.push_back(std::move(*note));
  return notes;
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
  Comparison result{
      .axes = std::move(axes), .has_target = false, .runs = std::move(runs), .groups = {}, .notes = {}};
  std::vector<std::vector<const ComparedRun*>> members;
  for (const ComparedRun& run : result.runs) {
    if (run.summary["target"]["given"]) result.has_target = true;
    const auto same =
        std::ranges::find_if(members, [&](const auto& m) { return m.front()->point == run.point; });
    if (same == members.end()) members.push_back({&run});
    else same->push_back(&run);
  }
  for (const auto& runs_of_group : members) result.groups.push_back(make_group(runs_of_group));

  for (std::size_t i = 0; i < members.size(); ++i)
    result.groups[i].relative = relative_to(members[i], members.front());
  result.notes = notes_of(result.runs);
  return result;
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
                  {"time_at_least_s", json_of(g.time_at_least)},
                  {"relative", json_of(g.relative)},
                  {"updates", json_of(g.updates)},
                  {"s_per_update", json_of(g.per_update)},
                  {"staleness", json_of(g.staleness)},
                  {"staleness_max", g.staleness_max},
                  {"compute_percent", json_of(g.compute)},
                  {"wait_percent", json_of(g.wait)},
                  {"network_percent", json_of(g.network)},
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
  Json notes = Json::array();
  for (const ComparedNote& note : c.notes)
    notes.push_back({{"name", note.name}, {"text", note.text}, {"runs", note.runs}});
  return {{"schema", "psim.compare/1"},
          {"axes", c.axes},
          {"runs", runs},
          {"aggregates", groups},
          {"notes", notes}};
}

}  // namespace psim::analysis

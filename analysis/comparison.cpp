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

// Null where the summary does not have it.
Json at(const Json& summary, const char* path) { return summary.value(Json::json_pointer(path), Json()); }

Json seconds_per_update(const Json& summary) {
  const auto updates = summary["updates"].get<double>();
  return updates > 0 ? summary["sim_time_s"].get<double>() / updates : 0.0;
}

Json copied_bytes(const Json& summary) {
  if (!summary.contains("failures")) return nullptr;
  const Json& failures = summary["failures"];
  return failures["replication_bytes"].get<double>() + failures["state_bytes"].get<double>();
}

// Mean over a run's crashes of servers, if all of them were made good.
Json mean_recovery(const Json& summary) {
  double sum = 0;
  const Json recoveries = at(summary, "/failures/recoveries");
  for (const Json& one : recoveries) {
    if (one["total_s"].is_null()) return nullptr;
    sum += one["total_s"].get<double>();
  }
  return recoveries.empty() ? Json() : Json(sum / static_cast<double>(recoveries.size()));
}

// What is measured of every run: its key in the document, and where a summary has it.
struct Measure {
  const char* key;
  const char* path = nullptr;
  double scale = 1;
  const char* with = nullptr;  // in the document where it has this one
  Json (*compute)(const Json& summary) = nullptr;
};
constexpr Measure all_measures[] = {
    {"updates", "/updates"},
    {.key = "s_per_update", .compute = seconds_per_update},
    {"staleness", "/staleness/mean"},
    {"compute_percent", "/time/compute_share", 100},
    {"wait_percent", "/time/wait_share", 100},
    {"network_percent", "/time/network_share", 100},
    {"absent_percent", "/time/absent_share", 100},
    {"bytes_sent", "/bytes_sent"},
    {"final_loss", "/final/loss"},
    {"final_accuracy", "/final/accuracy"},
    {"answer_latency_s", "/inference/latency_s/mean", 1, "answer_latency_s"},
    {"served_staleness", "/inference/staleness/mean", 1, "answer_latency_s"},
    {"served_accuracy", "/inference/accuracy", 1, "answer_latency_s"},
    {.key = "copied_bytes", .with = "copied_bytes", .compute = copied_bytes},
    {"suspicions", "/failures/suspicions", 1, "copied_bytes"},
    {"false_suspicions", "/failures/false_suspicions", 1, "copied_bytes"},
    {.key = "recovery_s", .with = "copied_bytes", .compute = mean_recovery},
};

Group make_group(const std::vector<const ComparedRun*>& runs) {
  Group group{.point = runs.front()->point, .runs = runs.size()};
  std::vector<double> times, at_least;
  for (const ComparedRun* run : runs) {
    const Json& s = run->summary;
    const std::optional<double> time = time_of(s);
    if (time) times.push_back(*time);
    at_least.push_back(time.value_or(s["sim_time_s"].get<double>()));
    if (s["target"]["reached"]) ++group.reached;
    group.staleness_max = std::max(group.staleness_max, s["staleness"]["max"].get<double>());
  }
  group.time_at_least = statistic(at_least);
  if (times.size() == runs.size()) group.time = group.time_at_least;
  for (const Measure& measure : all_measures) {
    std::vector<double> values;
    for (const ComparedRun* run : runs) {
      const Json value = measure.compute ? measure.compute(run->summary) : at(run->summary, measure.path);
      if (!value.is_null()) values.push_back(measure.scale * value.get<double>());
    }
    if (!values.empty()) group.measures.emplace(measure.key, statistic(values));
  }
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

Json json_of(const Statistic* s) {
  if (s == nullptr) return nullptr;
  return {{"mean", s->mean}, {"sd", s->sd ? Json(*s->sd) : Json()}, {"n", s->count}};
}
Json json_of(const std::optional<Statistic>& s) { return json_of(s ? &*s : nullptr); }

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
                  {"time_at_least_s", json_of(&g.time_at_least)},
                  {"relative", json_of(g.relative)}};
    for (const Measure& measure : all_measures) {
      if (measure.with && !g.measure(measure.with)) continue;
      group[measure.key] = json_of(g.measure(measure.key));
      if (std::string_view(measure.key) == "staleness") group["staleness_max"] = g.staleness_max;
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

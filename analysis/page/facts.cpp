// The few numbers with which a page describes a run.
#include <array>
#include <optional>

#include "analysis/page/page.hpp"
#include "analysis/page/parts.hpp"
#include "analysis/summary_value.hpp"

namespace psim::analysis {
namespace {

constexpr double mostly_right = 0.9;

// The date when the accuracy first reached `mostly_right`; null: never.
Json time_until_right(const Json& summary) {
  for (const Json& point : summary["curve"]) {
    const Json accuracy = point.value("accuracy", Json());
    if (accuracy.is_number() && accuracy.get<double>() >= mostly_right) return point["sim_time_s"];
  }
  return nullptr;
}

struct FactKind {
  const char* name;
  std::optional<SummaryPath> path;  // none: the time until most are right
  Shape shape;
  const char* doc;
};
constexpr std::array<FactKind, 12> told_facts{{
    {"time to 90 % accuracy", {}, as_seconds, "simulated time until the accuracy first reaches 90 %"},
    {"length of the run", "/sim_time_s"_summary, as_seconds,
     "simulated time until the last worker has finished"},
    {"updates", "/updates"_summary, {.decimals = 0}, "versions of the weights"},
    {"samples a second",
     "/samples_per_s"_summary,
     {.decimals = 0},
     "samples whose gradients changed the model"},
    {"accuracy at the end",
     "/final/accuracy"_summary,
     {.scale = 100, .decimals = 1, .unit = " %"},
     "on samples outside the training set"},
    {"loss at the end", "/final/loss"_summary, {}, "over the same samples"},
    {"workers compute", "/time/compute_share"_summary, as_percent, "share of all workers' time"},
    {"workers wait", "/time/wait_share"_summary, as_percent,
     "share of all workers' time in which they wait for others"},
    {"network", "/time/network_share"_summary, as_percent,
     "share of all workers' time with only messages on their way"},
    {"staleness", "/staleness/mean"_summary, {}, "mean age of a gradient when it is applied, in updates"},
    {"largest lead", "/clock_gap/max"_summary, {.decimals = 0, .unit = " clocks"}, "over the slowest worker"},
    {"sent", "/bytes_sent"_summary, as_megabytes, "by all nodes"},
}};

Json value_in(const FactKind& kind, const Json& summary) {
  return kind.path ? value_at(summary, *kind.path) : time_until_right(summary);
}

}  // namespace

std::vector<FieldDoc> fact_docs() {
  std::vector<FieldDoc> docs;
  for (const FactKind& kind : told_facts) docs.push_back({kind.name, "the facts of a page", kind.doc});
  return docs;
}

Json facts_of(const std::vector<const Json*>& summaries) {
  Json facts = Json::array();
  for (const FactKind& kind : told_facts) {
    double sum = 0;
    bool all = !summaries.empty();
    for (const Json* summary : summaries) {
      const Json value = value_in(kind, *summary);
      all = all && value.is_number();
      if (value.is_number()) sum += value.get<double>();
    }
    const Json mean = all ? Json(sum / static_cast<double>(summaries.size())) : Json();
    facts.push_back(
        {{"name", kind.name}, {"value", mean}, {"text", shown(mean, kind.shape)}, {"doc", kind.doc}});
  }
  return facts;
}

Json curve_of(const Json& summary, const char* what, double scale) {
  Json x = Json::array(), mean = Json::array();
  for (const Json& point : summary["curve"]) {
    const Json value = point.value(what, Json());
    if (!value.is_number()) continue;
    x.push_back(point["sim_time_s"]);
    mean.push_back(value.get<double>() * scale);
  }
  return {{"x", std::move(x)}, {"mean", std::move(mean)}, {"low", Json::array()}, {"high", Json::array()}};
}

}  // namespace psim::analysis

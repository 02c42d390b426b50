// The few numbers with which a page describes a run.
#include <algorithm>
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
  std::optional<SummaryPath> path;  // none: the milestone with this name
  Shape shape;
  const char* doc;
};
constexpr const char *to_target = "time to the target", *to_most = "time to 90 % accuracy";
constexpr std::array<FactKind, 13> told_facts{{
    {to_target, {}, as_seconds, "simulated time until the run reaches its target"},
    {to_most, {}, as_seconds, "simulated time until the accuracy first reaches 90 %"},
    {"length of the run", "/sim_time_s"_summary, as_seconds,
     "simulated time until the last worker has finished"},
    {"updates", "/updates"_summary, {.decimals = 0}, "versions of the weights"},
    {"samples a second", "/samples_per_s"_summary, {.decimals = 0}, "samples that the cluster learned from"},
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

}  // namespace

Milestone milestone_of(const Json& summary) {
  if (summary["target"].value("given", false)) return {to_target, summary["target"]["sim_time_s"]};
  const auto is_judged = [](const Json& point) { return point.value("accuracy", Json()).is_number(); };
  if (std::ranges::none_of(summary["curve"], is_judged)) return {};
  return {to_most, time_until_right(summary)};
}

std::vector<FieldDoc> fact_docs() {
  std::vector<FieldDoc> docs;
  for (const FactKind& kind : told_facts) docs.push_back({kind.name, "the facts of a page", kind.doc});
  return docs;
}

Json facts_of(const std::vector<const Json*>& summaries) {
  Json facts = Json::array();
  const std::string milestone = summaries.empty() ? "" : milestone_of(*summaries.front()).name;
  for (const FactKind& kind : told_facts) {
    if (!kind.path && kind.name != milestone) continue;
    double sum = 0;
    bool all = !summaries.empty();
    for (const Json* summary : summaries) {
      const Json value = kind.path ? value_at(*summary, *kind.path) : milestone_of(*summary).at_s;
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

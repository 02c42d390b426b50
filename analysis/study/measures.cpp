// The measures of a run, and their places in its summary.
#include <algorithm>
#include <limits>

#include "analysis/run_record.hpp"
#include "analysis/study/study.hpp"

namespace psim::analysis {
namespace {

bool is_stuck(const Json& summary) { return !summary.value("stuck", Json::array()).empty(); }

Json seconds_per_update(const Json& summary) {
  const auto updates = summary["updates"].get<double>();
  return updates > 0 ? summary["sim_time_s"].get<double>() / updates : 0.0;
}

Json copied_bytes(const Json& summary) {
  if (!summary.contains("failures")) return nullptr;
  const Json& failures = summary["failures"];
  return failures["replication_bytes"].get<double>() + failures["state_bytes"].get<double>();
}

// Mean over the crashes of servers, if the run recovered from all of them.
Json mean_recovery(const Json& summary) {
  double sum = 0;
  const Json recoveries = value_at(summary, "/failures/recoveries"_summary);
  for (const Json& one : recoveries) {
    const Json total = one.value("total_s", Json());
    if (total.is_null()) return nullptr;
    sum += total.get<double>();
  }
  return recoveries.empty() ? Json() : Json(sum / static_cast<double>(recoveries.size()));
}

// The memory of the fullest node that computes gradients.
Json fullest_worker(const Json& summary) {
  const Json workers = value_at(summary, "/workers"_summary);
  double most = 0;
  for (const Json& worker : workers) most = std::max(most, worker.value("device_bytes", 0.0));
  return most > 0 ? Json(most) : Json();
}

// Seconds between the evaluation that first showed the target and the evaluation before it.
Json bracket(const Json& summary) {
  const Json hit = value_at(summary, "/target/sim_time_s"_summary),
             miss = value_at(summary, "/target/last_miss_s"_summary);
  return hit.is_number() && miss.is_number() ? Json(hit.get<double>() - miss.get<double>()) : Json();
}

constexpr Measure all_measures[] = {
    {"updates", "/updates"_summary},
    {.key = "s_per_update", .compute = seconds_per_update},
    {"samples_per_s", "/samples_per_s"_summary},
    {.key = "target_bracket_s", .with = "target_bracket_s", .compute = bracket},
    {"staleness", "/staleness/mean"_summary},
    {"compute_percent", "/time/compute_share"_summary, 100},
    {"wait_percent", "/time/wait_share"_summary, 100},
    {"network_percent", "/time/network_share"_summary, 100},
    {"absent_percent", "/time/absent_share"_summary, 100},
    {"bytes_sent", "/bytes_sent"_summary},
    {.key = "memory_bytes", .compute = fullest_worker},
    {"final_loss", "/final/loss"_summary},
    {"final_accuracy", "/final/accuracy"_summary},
    {"answer_latency_s", "/inference/latency_s/mean"_summary, 1, "answer_latency_s"},
    {"served_staleness", "/inference/staleness/mean"_summary, 1, "answer_latency_s"},
    {"served_accuracy", "/inference/accuracy"_summary, 1, "answer_latency_s"},
    {.key = "copied_bytes", .with = "copied_bytes", .compute = copied_bytes},
    {"suspicions", "/failures/suspicions"_summary, 1, "copied_bytes"},
    {"false_suspicions", "/failures/false_suspicions"_summary, 1, "copied_bytes"},
    {.key = "recovery_s", .with = "copied_bytes", .compute = mean_recovery},
    // To the target. If the run missed it: of the whole run, the price of its whole budget.
    {"energy_J", "/economy/to_target/joules"_summary, 1, "energy_J", "/economy/joules"_summary},
    {"cost_usd", "/economy/to_target/dollars"_summary, 1, "energy_J", "/economy/dollars"_summary},
};

}  // namespace

std::span<const Measure> measures() { return all_measures; }

Json value_of(const Measure& measure, const Json& summary) {
  Json value = measure.compute != nullptr ? measure.compute(summary) : value_at(summary, *measure.path);
  if (value.is_null() && measure.otherwise) value = value_at(summary, *measure.otherwise);
  return value.is_null() ? value : Json(measure.scale * value.get<double>());
}

std::optional<double> time_of(const Json& summary) {
  const Json& target = summary["target"];
  if (!target["given"] && is_stuck(summary)) return std::nullopt;
  if (!target["given"]) return summary["sim_time_s"].get<double>();
  if (!target["reached"]) return std::nullopt;
  return target["sim_time_s"].get<double>();
}

// The budget is how long the run would have continued without its target: its duration, unless steps, epochs
// or samples end it earlier; infinite for a stuck run without a duration.
statistics::TimedRun timed(const StudyRun& run) {
  const Json& summary = run.summary;
  const std::optional<double> time = time_of(summary);
  const Json duration = summary["target"].value("budget_s", Json());
  const auto length = summary["sim_time_s"].get<double>();
  const bool ended_itself = !time && !is_stuck(summary);
  const double watched =
      duration.is_number() ? duration.get<double>() : std::numeric_limits<double>::infinity();
  const bool until_its_end = ended_itself || (time && !duration.is_number());
  const double budget = until_its_end && length < watched * (1 - 1e-9) ? length : watched;
  return {.seed = static_cast<std::uint64_t>(run.seed),
          .time_s = time.value_or(0),
          .reached = time.has_value(),
          .budget_s = std::max(budget, time.value_or(0))};
}

}  // namespace psim::analysis

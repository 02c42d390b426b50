#include "sim/record/summary_nodes.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/scenario/fields/choices.hpp"

namespace psim {
namespace {

using Json = nlohmann::ordered_json;

// Messages between workers and aggregators, and their sums between aggregators and servers.
Json sums(const SumTraffic& t) {
  return {{"pushes", t.pushes},       {"push_bytes", t.push_bytes},    {"sums", t.sums},
          {"sum_bytes", t.sum_bytes}, {"answers", t.answers},          {"answer_bytes", t.answer_bytes},
          {"copied", t.copied},       {"copied_bytes", t.copied_bytes}};
}

// The cost of all nodes of a role together.
Json role_cost(const RoleCost& cost) {
  return {{"on_s", cost.on_s}, {"busy_s", cost.busy_s}, {"joules", cost.joules}, {"dollars", cost.dollars}};
}

Json economy(const RunResult& r) {
  const Economy& all = *r.economy;
  Json json = {{"joules", all.joules()},
               {"dollars", all.dollars()},
               {"workers", role_cost(all.workers)},
               {"servers", role_cost(all.servers)},
               {"network", {{"joules", all.network_joules}}},
               {"to_target", nullptr}};
  if (r.target && r.target->economy)
    json["to_target"] = {{"joules", r.target->economy->joules()}, {"dollars", r.target->economy->dollars()}};
  return json;
}

Json slow_workers(const RunResult& r) {
  Json all = Json::array();
  for (const FoundSlow& one : r.failures->slow)
    all.push_back({{"worker", one.what.worker - 1 - r.stats.servers.size()},
                   {"at_s", one.at},
                   {"seconds_per_sample", one.what.seconds_per_sample},
                   {"median", one.what.median},
                   {"action", name_of(one.what.action)}});
  return all;
}

// Seconds of each part: from the crash until the scheduler knew; until the new owners had the shards or began
// to fetch them; until they owned them; until all shards had reached their versions at the crash. For a
// worker, after detection: until the next group began, and until the interrupted step was done.
Json recovery(const Recovery& r) {
  const auto span = [](std::optional<double> from, std::optional<double> to) {
    return from && to ? Json(*to - *from) : Json(nullptr);
  };
  if (r.is_worker) {
    return {{"worker", r.node - 1},
            {"at_s", r.crash},
            {"detection_s", span(r.crash, r.detected)},
            {"reforming_s", span(r.detected, r.reformed)},
            {"lost_work_s", span(r.reformed, r.caught_up)},
            {"total_s", span(r.crash, r.caught_up)}};
  }
  // Its shards may be moving to another server before the crash is known.
  const std::optional<double> asked =
      r.fetching && r.detected ? std::max(*r.fetching, *r.detected) : r.fetching;
  return {{"server", r.node - 1},
          {"at_s", r.crash},
          {"detection_s", span(r.crash, r.detected)},
          {"takeover_s", span(r.detected, asked)},
          {"transfer_s", span(r.fetching, r.owned)},
          {"catch_up_s", span(r.owned, r.caught_up)},
          {"total_s", span(r.crash, r.caught_up)}};
}

Json rebalancing(const Rebalancing& r) {
  Json servers = Json::array();
  for (std::size_t s = 0; s < r.before.size(); ++s)
    servers.push_back({{"server", s}, {"load_before_per_s", r.before[s]}, {"load_after_per_s", r.after[s]}});
  return {{"at_s", r.at},   {"view", r.view},         {"shards", r.shards},
          {"cuts", r.cuts}, {"parameters", r.values}, {"servers", servers}};
}

Json failures(const FailureStats& stats) {
  Json recoveries = Json::array();
  for (const Recovery& one : stats.recoveries) recoveries.push_back(recovery(one));
  Json all = {{"crashes", stats.crashes},
              {"suspicions", stats.suspicions},
              {"false_suspicions", stats.false_suspicions},
              {"views", stats.views},
              {"takeovers", stats.takeovers},
              {"snapshots", stats.snapshots},
              {"repeated_requests", stats.repeated},
              {"replication_bytes", stats.replication_bytes},
              {"state_bytes", stats.state_bytes},
              {"heartbeat_bytes", stats.heartbeat_bytes},
              {"recoveries", recoveries}};
  for (const Rebalancing& one : stats.rebalances) all["rebalances"].push_back(rebalancing(one));
  return all;
}

// When each worker and each server was up, in seconds from the beginning.
Json startup(const RunResult& r) {
  const auto workers = static_cast<std::ptrdiff_t>(r.stats.workers.size());
  const std::vector<double>& s = r.startup_s;
  return {{"workers_s", std::vector<double>(s.begin(), s.begin() + workers)},
          {"servers_s", std::vector<double>(s.begin() + workers, s.end())}};
}

}  // namespace

void add_node_life(const Scenario& scenario, const RunResult& r, Json& summary) {
  if (r.failures) summary["failures"] = failures(*r.failures);
  if (scenario.recovery.slow.given) summary["slow_workers"] = slow_workers(r);
  if (!r.startup_s.empty()) summary["startup"] = startup(r);
  if (r.sums) summary["aggregation"] = sums(*r.sums);
  if (r.economy) summary["economy"] = economy(r);
}

}  // namespace psim

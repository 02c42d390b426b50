#include "sim/record/summary_nodes.hpp"

#include <vector>

#include "sim/scenario/fields/choices.hpp"

namespace psim {
namespace {

using Json = nlohmann::ordered_json;

// Messages between workers and aggregators, and what is left of them between aggregators and servers.
Json sums(const SumTraffic& t) {
  return {{"pushes", t.pushes},       {"push_bytes", t.push_bytes},    {"sums", t.sums},
          {"sum_bytes", t.sum_bytes}, {"answers", t.answers},          {"answer_bytes", t.answer_bytes},
          {"copied", t.copied},       {"copied_bytes", t.copied_bytes}};
}

// Of the nodes of a role together.
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

// When nodes were up, in seconds from the beginning: of each worker and server.
Json startup(const RunResult& r) {
  const auto workers = static_cast<std::ptrdiff_t>(r.stats.workers.size());
  const std::vector<double>& s = r.startup_s;
  return {{"workers_s", std::vector<double>(s.begin(), s.begin() + workers)},
          {"servers_s", std::vector<double>(s.begin() + workers, s.end())}};
}

}  // namespace

void add_node_life(const Scenario& scenario, const RunResult& r, Json& summary) {
  if (scenario.recovery.slow.given) summary["slow_workers"] = slow_workers(r);
  if (!r.startup_s.empty()) summary["startup"] = startup(r);
  if (r.sums) summary["aggregation"] = sums(*r.sums);
  if (r.economy) summary["economy"] = economy(r);
}

}  // namespace psim

#include "sim/machines.hpp"

#include <algorithm>
#include <utility>

#include "sim/nodes/job/actors.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

// The server of each shard, over all jobs of the run.
std::vector<std::uint32_t> shard_servers(const std::vector<JobPlan>& jobs) {
  std::vector<std::uint32_t> servers;
  for (const JobPlan& job : jobs) {
    const std::vector<std::uint32_t> own = job.keys.servers();
    servers.insert(servers.end(), own.begin(), own.end());
  }
  return servers;
}

// The priority of a message: control messages go first, then the shards of the first layers.
std::function<std::uint32_t(const Message&)> rank_by_layer(const Scenario& scenario,
                                                           const std::vector<JobPlan>& jobs) {
  if (scenario.messages.order != SendOrder::priority) return [](const Message&) { return 0U; };
  std::vector<std::uint32_t> layers;  // by shard number in the run
  for (const JobPlan& job : jobs) {
    for (const Shard& shard : job.keys.shards) layers.push_back(shard.layer);
  }
  return [layers = std::move(layers)](const Message& message) {
    const Answer* answer = message.as<Answer>();
    const bool moves_values = message.is<Push>() || (answer != nullptr && !answer->finished);
    // A shard that the scheduler cut off during the run counts as one of the last layer.
    return moves_values ? 1 + layers[std::min<std::size_t>(message.shard, layers.size() - 1)] : 0;
  };
}

// The record counts separately for each group and each job.
void split_record(Recorder& recorder, const Scenario& scenario, const std::vector<JobPlan>& jobs) {
  std::vector<SpaceStats> spaces;
  for (const JobPlan& job : jobs) {
    spaces.push_back({.first_worker = job.first_index,
                      .workers = job.workers(),
                      .first_shard = job.first_shard,
                      .shards = static_cast<std::uint32_t>(job.keys.shards.size())});
  }
  std::vector<GroupStats> groups;
  std::uint32_t first_worker = 0;
  for (const GroupSpec& group : scenario.groups) {
    groups.push_back({.first_worker = first_worker, .workers = static_cast<std::uint32_t>(*group.workers)});
    first_worker += groups.back().workers;
  }
  recorder.split(std::move(spaces), std::move(groups));
}

// The host of each node; empty if each node has its own host.
std::vector<std::uint32_t> shared_hosts(const ClusterSpec& cluster) {
  std::vector<std::uint32_t> hosts;
  for (NodeId node = 0; cluster.colocate && node < node_count(cluster); ++node)
    hosts.push_back(host_of(cluster, node));
  return hosts;
}

}  // namespace

Machines::Machines(const Scenario& scenario, const std::vector<JobPlan>& jobs, const RunOptions& options,
                   const std::vector<EventSink*>& sinks)
    : engine(scenario, options.context),
      platform(build_platform(scenario)),
      recorder(static_cast<std::size_t>(scenario.cluster.servers),
               static_cast<std::size_t>(scenario.cluster.workers), shard_servers(jobs)),
      pool(options.threads),
      cpus(agenda, scenario.cluster),
      network(platform.hosts.size(), make_carrier(scenario, platform, agenda),
              {.header = static_cast<std::uint64_t>(scenario.cluster.network.header.value),
               .in_order = scenario.messages.order != SendOrder::parallel,
               .rank = rank_by_layer(scenario, jobs),
               .one_by_one_from = database_node(scenario.cluster),
               .background = first_inference_node(scenario.cluster),
               .repeats = scenario.may_fail(),
               .endpoint = scenario.cluster.network.endpoint,
               .hosts = shared_hosts(scenario.cluster)},
              recorder, agenda),
      slowness(scenario.compute, scenario.stragglers, static_cast<std::uint64_t>(scenario.seed),
               std::vector<double>(static_cast<std::size_t>(scenario.cluster.workers)), scenario.profiles) {
  for (EventSink* sink : sinks) recorder.add_sink(sink);
  recorder.follow(running_chain);
  recorder.set_beside(first_inference_node(scenario.cluster));
  if (scenario.may_fail()) recorder.watch_failures();
  if (!scenario.groups.empty()) split_record(recorder, scenario, jobs);
}

}  // namespace psim

#include "sim/scenario/spec/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/scenario/spec/rule.hpp"
#include "sim/scenario/text/number_in.hpp"

namespace psim {
std::uint32_t node_count(const ClusterSpec& cluster) {
  return first_inference_node(cluster) + static_cast<std::uint32_t>(cluster.inference.count());
}

std::uint32_t aggregator_count(const ClusterSpec& cluster) {
  const NetworkSpec& network = cluster.network;
  const bool sums = network.topology == TopologyKind::two_tier && network.aggregate != AggregateAt::servers;
  return sums ? static_cast<std::uint32_t>(network.racks) : 0;
}

std::uint32_t host_count(const ClusterSpec& cluster) {
  const auto beside = static_cast<std::uint32_t>(cluster.colocate ? cluster.servers : 0);
  return node_count(cluster) + aggregator_count(cluster) - beside;
}

std::uint32_t rack_of(const ClusterSpec& cluster, std::uint32_t node) {
  const std::uint32_t nodes = node_count(cluster);
  if (node >= nodes) return node - nodes;
  return node == 0 ? 0 : (node - 1) % static_cast<std::uint32_t>(cluster.network.racks);
}

std::uint32_t first_inference_node(const ClusterSpec& cluster) {
  const std::uint32_t others = static_cast<std::uint32_t>(1 + cluster.servers + cluster.workers);
  return others + (database_node(cluster) ? 1 : 0) + (cluster.storage ? 1 : 0);
}

std::optional<std::uint32_t> storage_node(const ClusterSpec& cluster) {
  if (!cluster.storage) return std::nullopt;
  return first_inference_node(cluster) - 1;
}

std::optional<std::uint32_t> database_node(const ClusterSpec& cluster) {
  if (cluster.delivery.source != Delivery::database && !cluster.database) return std::nullopt;
  return static_cast<std::uint32_t>(1 + cluster.servers + cluster.workers);
}

std::string node_name(const ClusterSpec& cluster, std::uint32_t node) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  if (node == 0) return "scheduler";
  if (node == database_node(cluster)) return "database";
  if (node == storage_node(cluster)) return "storage";
  if (const std::uint32_t first = first_inference_node(cluster); node >= first)
    return fmt::format("inference {}", node - first);
  return node <= servers ? fmt::format("server {}", node - 1) : fmt::format("worker {}", node - 1 - servers);
}

std::optional<std::uint32_t> node_named(const ClusterSpec& cluster, std::string_view name) {
  if (name == "scheduler") return 0;
  if (name == "database") return database_node(cluster);
  if (name == "storage") return storage_node(cluster);
  const std::size_t space = name.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint32_t> number = number_in<std::uint32_t>(name.substr(space + 1));
  if (!number || name.substr(space + 1) != fmt::to_string(*number)) return std::nullopt;
  if (name.starts_with("server ") && *number < cluster.servers) return 1 + *number;
  if (name.starts_with("worker ") && *number < cluster.workers)
    return 1 + static_cast<std::uint32_t>(cluster.servers) + *number;
  if (name.starts_with("inference ") && *number < cluster.inference.count())
    return first_inference_node(cluster) + *number;
  return std::nullopt;
}

// Without servers the workers take the numbers of the servers.
std::uint32_t host_of(const ClusterSpec& cluster, std::uint32_t node) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  return cluster.colocate && node > servers ? node - servers : node;
}

std::vector<std::uint32_t> nodes_on(const ClusterSpec& cluster, std::uint32_t host) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  if (!cluster.colocate || host == 0) return {host};
  if (host > servers) return {host + servers};
  return {host + servers, host};
}

std::optional<std::uint32_t> host_named(const ClusterSpec& cluster, std::string_view name) {
  constexpr std::string_view word = "host ";
  if (!cluster.colocate || !name.starts_with(word)) return std::nullopt;
  const std::optional<std::uint32_t> number = number_in<std::uint32_t>(name.substr(word.size()));
  if (!number || *number >= cluster.workers) return std::nullopt;
  return 1 + *number;
}

ClusterSpec machines_of(const ClusterSpec& cluster) {
  ClusterSpec machines = cluster;
  if (cluster.colocate) machines.servers = 0;
  machines.colocate = false;
  return machines;
}

std::string meant_node(std::string_view name) {
  std::string word, rest;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 && rest.empty())
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (std::string_view(" _-#.").find(c) == std::string_view::npos) rest += c;
  }
  if ((word == "scheduler" || word == "database" || word == "storage") && rest.empty()) return word;
  if (word != "server" && word != "worker" && word != "inference") return "";
  const std::optional<std::uint32_t> number = number_in<std::uint32_t>(rest);
  return number ? fmt::format("{} {}", word, *number) : "";
}

bool talks(const Scenario& scenario, std::uint32_t a, std::uint32_t b) {
  const auto [low, high] = std::minmax(a, b);
  const auto servers = static_cast<std::uint32_t>(scenario.cluster.servers);
  if (low == high) return false;
  if (high >= node_count(scenario.cluster)) {  // an aggregator, and a server or a worker of its rack
    const std::uint32_t after_workers = servers + 1 + static_cast<std::uint32_t>(scenario.cluster.workers);
    const bool is_worker = low > servers && low < after_workers;
    return (low > 0 && low <= servers) ||
           (is_worker && rack_of(scenario.cluster, low) == rack_of(scenario.cluster, high));
  }
  const bool has_servers = scenario.architecture.has_servers();
  if (high == storage_node(scenario.cluster)) return low > 0 && (low <= servers || !has_servers);
  // If nodes may fail, the scheduler tells inference nodes the owners of shards.
  if (high >= first_inference_node(scenario.cluster))
    return low <= servers && (low > 0 || scenario.may_fail());
  if (high == database_node(scenario.cluster)) return low > servers;  // the database and a worker
  if (low == 0) return true;                                          // the scheduler and every other node
  // Groups agree on the step to continue with, and when a worker is lost, other workers become neighbours.
  const bool regroups = !has_servers && scenario.may_fail() && scenario.recovery.workers != LostWorkers::wait;
  if (regroups) return true;
  if (!has_servers)
    return workers_talk(scenario.architecture, static_cast<std::uint32_t>(scenario.cluster.workers), low - 1,
                        high - 1);
  if (low <= servers && high > servers) return true;  // a server and a worker
  if (low > servers)
    return scenario.training.work == WorkPolicy::stealing ||
           (scenario.moves_data() && scenario.recovery.data_from == DataFrom::workers);
  if (high <= servers && (scenario.may_fail() || !scenario.groups.empty())) return true;
  // The first shard's server and another server. Only with an even placement this is certainly the first
  // server.
  return high <= servers && (low == 1 || scenario.placement.kind != PlacementKind::even) &&
         rule_of(scenario).first_shard_decides;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> talking_pairs(const Scenario& scenario) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  const std::uint32_t nodes = node_count(scenario.cluster) + aggregator_count(scenario.cluster);
  for (std::uint32_t a = 0; a < nodes; ++a) {
    for (std::uint32_t b = a + 1; b < nodes; ++b) {
      if (talks(scenario, a, b)) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

GraphEnds graph_ends(const ClusterSpec& cluster) {
  GraphEnds ends{.vertices = node_count(cluster), .links = {}};
  std::map<std::string, std::uint32_t> switches;
  const auto vertex = [&](const std::string& name) {
    if (const std::optional<std::uint32_t> node = node_named(cluster, name)) return *node;
    const auto [at, fresh] = switches.try_emplace(name, ends.vertices);
    if (fresh) ++ends.vertices;
    return at->second;
  };
  for (const LinkSpec& link : cluster.network.links) {
    const std::uint32_t a = vertex(link.between[0]);
    ends.links.emplace_back(a, vertex(link.between[1]));
  }
  return ends;
}

}  // namespace psim

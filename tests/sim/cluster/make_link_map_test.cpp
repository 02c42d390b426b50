// Goal: run.db has the way of every message, and no more rows than the cluster's shape needs.

#include <algorithm>

#include "sim/cluster/paths.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Scenario scenario_of(TopologyKind kind, std::int64_t workers, std::int64_t servers) {
  Scenario scenario;
  scenario.cluster.workers = workers;
  scenario.cluster.servers = servers;
  scenario.cluster.network.topology = kind;
  return scenario;
}

Connections all_that_talk(const Scenario& scenario) {
  Connections connections;
  for (const auto& [a, b] : talking_pairs(scenario)) {
    connections.add(a, b);
    connections.add(b, a);
  }
  return connections;
}

// As the comment of table `hop` says it.
std::vector<std::uint32_t> way(const LinkMap& map, NodeId from, NodeId to) {
  std::vector<LinkMap::Hop> hops;
  for (const LinkMap::Hop& hop : map.hops) {
    if (hop.sender.value_or(from) == from && hop.receiver.value_or(to) == to) hops.push_back(hop);
  }
  std::ranges::sort(hops, {}, &LinkMap::Hop::position);
  std::vector<std::uint32_t> links;
  for (const LinkMap::Hop& hop : hops) links.push_back(hop.link);
  return links;
}

}  // namespace

TEST_CASE("rows of hops put together are the paths of the topology", "[links]") {
  using enum TopologyKind;
  for (const TopologyKind kind : {star, two_tier, fat_tree, torus, dragonfly}) {
    const Scenario scenario = scenario_of(kind, 9, 3);
    const LinkMap map = make_link_map(scenario, all_that_talk(scenario));
    const Topology topology = make_topology(scenario.cluster);
    Paths paths(topology);
    for (const auto& [a, b] : talking_pairs(scenario)) {
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        std::vector<std::uint32_t> links;
        for (const Hop& hop : paths.between(from, to)) links.push_back(2 * hop.link + (hop.forward ? 0 : 1));
        CHECK(way(map, from, to) == links);
      }
    }
  }
}

TEST_CASE("a star has two rows for each node, whoever talks to whom", "[links]") {
  const Scenario scenario = scenario_of(TopologyKind::star, 300, 20);
  const LinkMap map = make_link_map(scenario, all_that_talk(scenario));
  CHECK(map.hops.size() == 2 * node_count(scenario.cluster));
  CHECK(map.links.size() == 2 * node_count(scenario.cluster));
  CHECK(map.links[way(map, 21, 1)[0]].name == "worker 0 up");
  CHECK(map.links[way(map, 21, 1)[1]].name == "server 0 down");
}

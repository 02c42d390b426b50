#include "sim/cluster/topology.hpp"

#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

Topology star(const ClusterSpec& cluster) {
  Topology t;
  t.hosts = node_count(cluster);
  t.vertices = t.hosts + 1;
  for (std::uint32_t host = 0; host < t.hosts; ++host) {
    t.links.push_back({host, t.hosts, cluster.network.bandwidth.value, cluster.network.latency.value});
  }
  t.next = [hub = t.hosts](std::uint32_t at, std::uint32_t to) { return at == hub ? to : hub; };
  return t;
}

// Distributes the nodes to the racks in turn, servers first, so every rack gets its share of servers and
// workers. An aggregator is in its rack, but its link does not count for the uplink's bandwidth. If the
// aggregator is in the switch, its link has no bandwidth limit and no latency.
Topology two_tier(const ClusterSpec& cluster) {
  constexpr double never_full = 1e18;  // bytes per second
  const NetworkSpec& network = cluster.network;
  const auto racks = static_cast<std::uint32_t>(network.racks);
  const std::uint32_t nodes = node_count(cluster);
  const bool in_switch = network.aggregate == AggregateAt::switches;
  Topology t;
  t.hosts = host_count(cluster);
  t.vertices = t.hosts + racks + 1;
  const std::uint32_t core = t.vertices - 1;
  const auto switch_of = [hosts = t.hosts, racks, nodes](std::uint32_t host) {
    return hosts + (host == 0 ? 0 : host >= nodes ? host - nodes : (host - 1) % racks);
  };
  std::vector<std::uint32_t> rack_size(racks, 0);
  for (std::uint32_t host = 0; host < t.hosts; ++host) {
    const bool has_no_link = host >= nodes && in_switch;
    if (host > 0 && host < nodes) ++rack_size[switch_of(host) - t.hosts];
    t.links.push_back({host, switch_of(host), has_no_link ? never_full : network.bandwidth.value,
                       has_no_link ? 0 : network.latency.value});
  }
  for (std::uint32_t rack = 0; rack < racks; ++rack) {
    const double members = rack_size[rack] * network.bandwidth.value;
    t.links.push_back({t.hosts + rack, core, members / network.oversubscription, network.latency.value});
  }
  t.next = [hosts = t.hosts, core, switch_of](std::uint32_t at, std::uint32_t to) {
    if (at < hosts) return switch_of(at);
    if (at == core) return switch_of(to);
    return at == switch_of(to) ? to : core;
  };
  return t;
}

Topology graph(const ClusterSpec& cluster) {
  const NetworkSpec& network = cluster.network;
  const GraphEnds ends = graph_ends(cluster);
  Topology t;
  t.hosts = node_count(cluster);
  t.vertices = ends.vertices;
  for (std::size_t i = 0; i < ends.links.size(); ++i) {
    const LinkSpec& link = network.links[i];
    t.links.push_back({ends.links[i].first, ends.links[i].second,
                       link.bandwidth.value_or(network.bandwidth).value,
                       link.latency.value_or(network.latency).value});
  }
  return t;
}

}  // namespace

namespace {

Topology shape(const ClusterSpec& cluster) {
  switch (cluster.network.topology) {
    case TopologyKind::star: return star(cluster);
    case TopologyKind::two_tier: return two_tier(cluster);
    case TopologyKind::fat_tree: return fat_tree(cluster);
    case TopologyKind::torus: return torus(cluster);
    case TopologyKind::dragonfly: return dragonfly(cluster);
    case TopologyKind::graph: return graph(cluster);
    case TopologyKind::simgrid_xml: break;
  }
  return {};
}

}  // namespace

Topology make_topology(const ClusterSpec& nodes) {
  Topology topology = shape(machines_of(nodes));
  for (TopologyLink& link : topology.links) link.bandwidth *= nodes.network.drawn_bandwidth;
  return topology;
}

}  // namespace psim

#include "sim/cluster/topology.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <utility>

namespace psim {
namespace {

Topology star(const ClusterSpec& cluster) {
  Topology t;
  t.hosts = static_cast<std::uint32_t>(1 + cluster.servers + cluster.workers);
  t.vertices = t.hosts + 1;
  for (std::uint32_t host = 0; host < t.hosts; ++host) {
    t.links.push_back({host, t.hosts, cluster.network.bandwidth.value, cluster.network.latency.value});
  }
  return t;
}

// Nodes are dealt out to the racks in turn, servers first, so that every rack has its share of both.
Topology two_tier(const ClusterSpec& cluster) {
  const NetworkSpec& network = cluster.network;
  const auto racks = static_cast<std::uint32_t>(network.racks);
  Topology t;
  t.hosts = static_cast<std::uint32_t>(1 + cluster.servers + cluster.workers);
  t.vertices = t.hosts + racks + 1;
  const std::uint32_t core = t.vertices - 1;
  std::vector<std::uint32_t> rack_size(racks, 0);
  for (std::uint32_t host = 0; host < t.hosts; ++host) {
    const std::uint32_t rack = host == 0 ? 0 : (host - 1) % racks;
    if (host > 0) ++rack_size[rack];
    t.links.push_back({host, t.hosts + rack, network.bandwidth.value, network.latency.value});
  }
  for (std::uint32_t rack = 0; rack < racks; ++rack) {
    const double members = rack_size[rack] * network.bandwidth.value;
    t.links.push_back({t.hosts + rack, core, members / network.oversubscription, network.latency.value});
  }
  return t;
}

}  // namespace

Topology make_topology(const ClusterSpec& cluster) {
  switch (cluster.network.topology) {
    case TopologyKind::star: return star(cluster);
    case TopologyKind::two_tier: return two_tier(cluster);
  }
  return {};
}

PathTree::PathTree(const Topology& topology, std::uint32_t root)
    : topology_(topology), root_(root), link_towards_root_(topology.vertices, UINT32_MAX) {
  // Dijkstra's distances compare (hops, latency); ties go to the lower vertex, so paths are the same
  // everywhere.
  using Distance = std::pair<std::uint32_t, double>;
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                                      boost::property<boost::edge_index_t, std::uint32_t>>;
  Graph graph(topology.vertices);
  for (std::uint32_t i = 0; i < topology.links.size(); ++i) {
    boost::add_edge(topology.links[i].a, topology.links[i].b, i, graph);
  }
  const auto index = boost::get(boost::edge_index, graph);
  const auto weight =
      boost::make_function_property_map<Graph::edge_descriptor>([&](Graph::edge_descriptor e) {
        return Distance{1, topology.links[boost::get(index, e)].latency};
      });
  std::vector<Graph::vertex_descriptor> parent(topology.vertices);
  std::vector<Distance> distance(topology.vertices);
  boost::dijkstra_shortest_paths(
      graph, root,
      boost::weight_map(weight)
          .predecessor_map(parent.data())
          .distance_map(distance.data())
          .distance_zero(Distance{0, 0.0})
          .distance_inf(Distance{UINT32_MAX, 0.0})
          .distance_combine([](const Distance& a, const Distance& b) {
            return a.first == UINT32_MAX ? a : Distance{a.first + b.first, a.second + b.second};
          })
          .distance_compare(std::less<Distance>{}));
  for (std::uint32_t i = 0; i < topology.links.size(); ++i) {
    const TopologyLink& link = topology.links[i];
    if (link.a != root && parent[link.a] == link.b) link_towards_root_[link.a] = i;
    if (link.b != root && parent[link.b] == link.a) link_towards_root_[link.b] = i;
  }
}

std::vector<Hop> PathTree::path_from(std::uint32_t vertex) const {
  std::vector<Hop> path;
  while (vertex != root_) {
    const std::uint32_t i = link_towards_root_[vertex];
    const bool forward = topology_.links[i].a == vertex;
    path.push_back({i, forward});
    vertex = forward ? topology_.links[i].b : topology_.links[i].a;
  }
  return path;
}

}  // namespace psim

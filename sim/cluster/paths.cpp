#include "sim/cluster/paths.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace psim {
namespace {

// (hops, latency), compared in this order.
using Distance = std::pair<std::uint32_t, double>;
constexpr Distance unreached{UINT32_MAX, 0.0};

Distance further(const Distance& a, const Distance& b) {
  return a.first == UINT32_MAX ? a : Distance{a.first + b.first, a.second + b.second};
}

std::vector<Distance> distances(const Topology& topology, std::uint32_t root) {
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
  boost::dijkstra_shortest_paths(graph, root,
                                 boost::weight_map(weight)
                                     .predecessor_map(parent.data())
                                     .distance_map(distance.data())
                                     .distance_zero(Distance{0, 0.0})
                                     .distance_inf(unreached)
                                     .distance_combine(&further)
                                     .distance_compare(std::less<Distance>{}));
  return distance;
}

}  // namespace

PathTree::PathTree(const Topology& topology, std::uint32_t root)
    : topology_(topology), root_(root), link_towards_root_(topology.vertices, UINT32_MAX) {
  // Boost's heap decides which of several equal paths Dijkstra finds. The distances do not depend on it.
  const std::vector<Distance> distance = distances(topology, root);
  std::vector<std::uint32_t> parent(topology.vertices, UINT32_MAX);
  for (std::uint32_t i = 0; i < topology.links.size(); ++i) {
    const TopologyLink& link = topology.links[i];
    for (const auto& [from, to] : {std::pair{link.a, link.b}, std::pair{link.b, link.a}}) {
      if (from == root || to >= parent[from] || distance[from] == unreached) continue;
      if (further(distance[to], {1, link.latency}) != distance[from]) continue;
      parent[from] = to;
      link_towards_root_[from] = i;
    }
  }
}

std::vector<Hop> PathTree::path_from(std::uint32_t vertex) const {
  std::vector<Hop> path;
  while (vertex != root_) {
    const std::uint32_t i = link_towards_root_.at(vertex);
    const TopologyLink& link = topology_.links.at(i);
    const bool forward = link.a == vertex;
    path.push_back({i, forward});
    vertex = forward ? link.b : link.a;
  }
  return path;
}

Paths::Paths(const Topology& topology) : topology_(topology) {
  if (!topology.next) return;
  const auto low = [](const TopologyLink& link) { return std::min(link.a, link.b); };
  first_.resize(topology.vertices + 1);
  for (const TopologyLink& link : topology.links) ++first_[low(link) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::uint32_t> next(first_);
  links_.resize(topology.links.size());
  for (std::uint32_t i = 0; i < topology.links.size(); ++i) links_[next[low(topology.links[i])]++] = i;
}

// If several links join two vertices, the path takes the link with the lowest number.
std::vector<Hop> Paths::routed(std::uint32_t from, std::uint32_t to) const {
  std::vector<Hop> path;
  path.reserve(4);
  for (std::uint32_t at = from; at != to;) {
    const std::uint32_t next = topology_.next(at, to);
    const std::uint32_t* link = &links_[first_[std::min(at, next)]];
    const std::uint32_t high = std::max(at, next);
    while (std::max(topology_.links[*link].a, topology_.links[*link].b) != high) ++link;
    path.push_back({*link, topology_.links[*link].a == at});
    at = next;
  }
  return path;
}

std::vector<Hop> Paths::between(std::uint32_t from, std::uint32_t to) {
  if (topology_.next) return routed(from, to);
  const auto [root, other] = std::minmax(from, to);
  auto tree = trees_.find(root);
  if (tree == trees_.end()) tree = trees_.emplace(root, PathTree(topology_, root)).first;
  std::vector<Hop> path = tree->second.path_from(other);
  if (other == from) return path;
  std::ranges::reverse(path);
  for (Hop& hop : path) hop.forward = !hop.forward;
  return path;
}

// Until SimGrid 3.35 the first zone of an engine becomes its root. Later engines have a root from the start,
// and new zones belong to it.
RouteTable* RouteTable::make(const std::string& name) {
  auto* table = new RouteTable(name);
  simgrid::s4u::NetZone* root = simgrid::s4u::Engine::get_instance()->get_netzone_root();
  if (root != table->get_iface()) table->set_parent(root->get_impl());
  return table;
}

std::uint64_t RouteTable::key(const NetPoint* from, const NetPoint* to) {
  return (std::uint64_t{from->id()} << 32U) | to->id();
}

void RouteTable::add(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to, const Links& links) {
  Crossed& route = routes_[key(from->get_netpoint(), to->get_netpoint())] = {};
  route.links.reserve(links.size());
  for (const simgrid::s4u::Link* link : links) {
    route.links.push_back(link->get_impl());
    route.latency += link->get_latency();
    if (link->get_sharing_policy() != simgrid::s4u::Link::SharingPolicy::FATPIPE)
      route.port_bandwidth = link->get_bandwidth();
  }
}

double RouteTable::latency(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) const {
  const auto route = routes_.find(key(from->get_netpoint(), to->get_netpoint()));
  return route == routes_.end() ? 0 : route->second.latency;
}

double RouteTable::port_bandwidth(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) const {
  const auto route = routes_.find(key(from->get_netpoint(), to->get_netpoint()));
  return route != routes_.end() && route->second.latency > 0 ? route->second.port_bandwidth : 0;
}

// Without a route the result has no links, and SimGrid reports an error.
void RouteTable::get_local_route(const NetPoint* from, const NetPoint* to, Route* into, double* latency) {
  const auto route = routes_.find(key(from, to));
  if (route == routes_.end()) return;
  const Crossed& crossed = route->second;
  into->link_list_.insert(into->link_list_.end(), crossed.links.begin(), crossed.links.end());
  if (latency != nullptr) *latency += latency_factor_ * crossed.latency;
}

namespace {

std::uint64_t pair_of(std::uint32_t from, std::uint32_t to) { return (std::uint64_t{from} << 32U) | to; }

}  // namespace

Wiring::Wiring(const NetworkSpec& network, Topology topology)
    : topology_(std::move(topology)), paths_(topology_) {
  least_latency_ = std::numeric_limits<double>::infinity();
  own_.resize(topology_.hosts);
  for (std::uint32_t i = 0; i < topology_.links.size(); ++i) {
    const TopologyLink& link = topology_.links[i];
    bandwidths_.insert(bandwidths_.end(), 2, link.bandwidth);  // there and back
    least_latency_ = std::min(least_latency_, link.latency);
    for (const std::uint32_t end : {link.a, link.b}) {
      if (end < topology_.hosts) own_[end].insert(own_[end].end(), {2 * i, 2 * i + 1});
    }
  }
  if (network.topology == TopologyKind::simgrid_xml) {
    file_ = &network.platform_file;
    read_file();
  }
  if (bandwidths_.empty()) least_latency_ = 0;
}

void Wiring::read_file() {
  for (const PlatformFile::Link& link : file_->links) bandwidths_.push_back(link.bandwidth);
  for (std::uint32_t i = 0; i < file_->routes.size(); ++i) {
    const PlatformFile::Route& route = file_->routes[i];
    routes_.emplace_back(pair_of(route.from, route.to), i);
    least_latency_ = std::min(least_latency_, route.latency);
  }
  std::ranges::sort(routes_);
}

Wiring::Way Wiring::way_of_file(std::uint32_t from, std::uint32_t to) const {
  Way way;
  const auto found = std::ranges::lower_bound(routes_, std::pair{pair_of(from, to), 0U});
  const PlatformFile::Route& route = file_->routes[found->second];
  way.latency = route.latency;
  for (const std::uint32_t number : route.links) {
    const PlatformFile::Link& link = file_->links[number];
    way.slowness += 1 / link.bandwidth;
    if (!link.fat_pipe) way.stations.push_back(number);
    else way.limit = way.limit > 0 ? std::min(way.limit, link.bandwidth) : link.bandwidth;
  }
  return way;
}

Wiring::Way Wiring::way(std::uint32_t from, std::uint32_t to) {
  if (file_ != nullptr) return way_of_file(from, to);
  Way way;
  for (const Hop& hop : paths_.between(from, to)) {
    const TopologyLink& link = topology_.links[hop.link];
    way.stations.push_back(2 * hop.link + (hop.forward ? 0 : 1));
    way.latency += link.latency;
    way.slowness += 1 / link.bandwidth;
  }
  return way;
}

}  // namespace psim

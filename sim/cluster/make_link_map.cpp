#include "sim/cluster/make_link_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "sim/cluster/paths.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

using Way = std::vector<std::uint32_t>;  // links, in the order in which they are crossed
using FindWay = std::function<Way(NodeId from, NodeId to)>;

// Names of vertices: nodes have their usual names; switches have the scenario's names, otherwise numbers.
std::vector<std::string> vertex_names(const ClusterSpec& cluster, const Topology& topology) {
  std::vector<std::string> names;
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    const std::vector<std::uint32_t> nodes = nodes_on(cluster, host);
    names.push_back(nodes.size() > 1 ? fmt::format("host {}", host - 1) : node_name(cluster, nodes.front()));
  }
  const bool has_racks = cluster.network.topology == TopologyKind::two_tier;
  for (std::uint32_t v = topology.hosts; v < topology.vertices; ++v)
    names.push_back(fmt::format("{} {}", has_racks ? "rack" : "switch", v - topology.hosts));
  if (has_racks) names.back() = "core";
  if (cluster.network.topology == TopologyKind::graph) {
    for (std::size_t i = 0; i < topology.links.size(); ++i) {
      names[topology.links[i].a] = cluster.network.links[i].between[0];
      names[topology.links[i].b] = cluster.network.links[i].between[1];
    }
  }
  return names;
}

// Link i of the topology has number 2 i from its end a to b, and 2 i + 1 in the other direction.
std::vector<LinkMap::Link> links_of(const ClusterSpec& cluster, const Topology& topology) {
  const FlowModel model = flow_model(cluster.network);
  const std::vector<std::string> names = vertex_names(cluster, topology);
  std::vector<std::uint32_t> degree(topology.vertices);
  for (const TopologyLink& link : topology.links) ++degree[link.a], ++degree[link.b];
  const auto is_only_link = [&](std::uint32_t end) { return end < topology.hosts && degree[end] == 1; };
  const auto name = [&](std::uint32_t from, std::uint32_t to) {
    if (is_only_link(from)) return names[from] + " up";
    if (is_only_link(to)) return names[to] + " down";
    return fmt::format("{} to {}", names[from], names[to]);
  };
  std::vector<LinkMap::Link> links;
  for (const TopologyLink& link : topology.links) {
    for (const auto& [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)})
      links.push_back({name(from, to), model.bandwidth * link.bandwidth, model.latency * link.latency, true});
  }
  return links;
}

// The routes of a platform file. If a route has more latency than its links, an extra link without a
// bandwidth limit has the difference.
class FileRoutes {
 public:
  FileRoutes(const ClusterSpec& cluster, std::vector<LinkMap::Link>& links)
      : cluster_(cluster), file_(cluster.network.platform_file), links_(links) {
    const FlowModel model = flow_model(cluster.network);
    for (const PlatformFile::Link& link : file_.links)
      links_.push_back(
          {link.name, model.bandwidth * link.bandwidth, model.latency * link.latency, !link.fat_pipe});
    for (const PlatformFile::Route& route : file_.routes) routes_[{route.from, route.to}] = &route;
  }

  Way way(NodeId from, NodeId to) {
    const PlatformFile::Route& route = *routes_.at({from, to});
    Way way = route.links;
    double own = route.latency;
    for (const std::uint32_t link : route.links) own -= file_.links[link].latency;
    if (!(own > 1e-9 * route.latency)) return way;
    const auto [at, is_new] = own_.try_emplace({from, to}, static_cast<std::uint32_t>(links_.size()));
    if (is_new)
      links_.push_back({fmt::format("{} to {}, latency", node_name(cluster_, from), node_name(cluster_, to)),
                        std::nullopt, flow_model(cluster_.network).latency * own, false});
    way.push_back(at->second);
    return way;
  }

 private:
  const ClusterSpec& cluster_;
  const PlatformFile& file_;
  std::vector<LinkMap::Link>& links_;
  std::map<std::pair<NodeId, NodeId>, const PlatformFile::Route*> routes_;
  std::map<std::pair<NodeId, NodeId>, std::uint32_t> own_;
};

// The link that all routes of a node share at one end, if it exists.
class CommonLink {
 public:
  void add(const Way& way, bool first) {
    if (way.size() < 2 || (link_ && *link_ != link_of(way, first))) differs_ = true;
    if (!way.empty()) link_ = link_of(way, first);
  }
  std::optional<std::uint32_t> get() const { return differs_ ? std::nullopt : link_; }

 private:
  static std::uint32_t link_of(const Way& way, bool first) { return first ? way.front() : way.back(); }
  std::optional<std::uint32_t> link_;
  bool differs_ = false;
};

// Most nodes have a single own link, so one row covers all messages of the node: a star of ten thousand
// workers and a hundred servers has two million routes, but no other links.
std::vector<LinkMap::Hop> hops_of(const Connections& connections, const FindWay& find) {
  std::map<NodeId, CommonLink> firsts, lasts;
  std::size_t longest = 0;
  connections.each([&](NodeId from, NodeId to) {
    const Way way = find(from, to);
    firsts[from].add(way, true);
    lasts[to].add(way, false);
    longest = std::max(longest, way.size());
  });
  std::vector<LinkMap::Hop> hops;
  for (const auto& [from, link] : firsts) {
    if (link.get()) hops.push_back({from, std::nullopt, 0, *link.get()});
  }
  connections.each([&](NodeId from, NodeId to) {
    const Way way = find(from, to);
    const std::size_t begin = firsts[from].get() ? 1 : 0, end = way.size() - (lasts[to].get() ? 1 : 0);
    for (std::size_t i = begin; i < end; ++i)
      hops.push_back({from, to, static_cast<std::uint32_t>(i), way[i]});
  });
  for (const auto& [to, link] : lasts) {
    if (link.get()) hops.push_back({std::nullopt, to, static_cast<std::uint32_t>(longest - 1), *link.get()});
  }
  return hops;
}

LinkMap::Ends ends_of(const NetworkSpec& network) {
  const FlowModel model = flow_model(network);
  const EndpointSpec& endpoint = network.endpoint;
  const auto number = [](const std::optional<BytesPerSecond>& bandwidth) {
    return bandwidth ? std::optional(bandwidth->value) : std::nullopt;
  };
  LinkMap::Ends ends{.window = std::nullopt,
                     .send_overhead = endpoint.send_overhead.value,
                     .receive_overhead = endpoint.receive_overhead.value,
                     .send_bandwidth = number(endpoint.send_bandwidth),
                     .receive_bandwidth = number(endpoint.receive_bandwidth)};
  // One window per round trip, without the model's latency factor (carrier.cpp).
  if (model.window > 0) ends.window = model.bandwidth * model.window * model.latency / 2;
  return ends;
}

}  // namespace

LinkMap make_link_map(const Scenario& scenario, const Connections& connections) {
  const ClusterSpec& cluster = scenario.cluster;
  LinkMap map{.links = {}, .hops = {}, .ends = ends_of(cluster.network)};
  if (cluster.network.topology == TopologyKind::simgrid_xml) {
    FileRoutes routes(cluster, map.links);
    map.hops = hops_of(connections, [&](NodeId from, NodeId to) { return routes.way(from, to); });
    return map;
  }
  const Topology topology = make_topology(cluster);
  map.links = links_of(cluster, topology);
  Paths paths(topology);
  map.hops = hops_of(connections, [&](NodeId from, NodeId to) {
    Way way;  // empty between two nodes of one machine
    from = host_of(cluster, from);
    to = host_of(cluster, to);
    for (const Hop& hop : from == to ? std::vector<Hop>{} : paths.between(from, to))
      way.push_back(2 * hop.link + (hop.forward ? 0 : 1));
    return way;
  });
  return map;
}

}  // namespace psim

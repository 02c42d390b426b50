#include "sim/cluster/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/cluster/paths.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/protocol/all_reduce.hpp"
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

// Topologies with a fixed shape, each with its own routing. All links are equal.

namespace {

void connect(Topology& t, const NetworkSpec& network, std::uint32_t a, std::uint32_t b) {
  t.links.push_back({a, b, network.bandwidth.value, network.latency.value});
}

// Switches of the k-ary fat tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation
// switches, and (k/2)^2 core switches. Each aggregation switch of a pod reaches k/2 different core switches.
struct FatTree {
  std::uint32_t hosts, half;  // half: k/2

  struct Seat {
    std::uint32_t pod, edge, port;
  };
  // Distributes the nodes over the pods in turn. Each pod begins at a different place, so the first nodes,
  // the servers, use different core switches.
  Seat seat(std::uint32_t node) const {
    const std::uint32_t pod = node % (2 * half);
    const std::uint32_t place = (node / (2 * half) + pod) % (half * half);
    return {pod, place % half, place / half};
  }
  std::uint32_t edge(std::uint32_t pod, std::uint32_t i) const { return hosts + pod * half + i; }
  std::uint32_t aggregation(std::uint32_t pod, std::uint32_t i) const {
    return edge(2 * half, 0) + pod * half + i;
  }
  std::uint32_t core(std::uint32_t i) const { return aggregation(2 * half, 0) + i; }

  // D-mod-k: the digits of the destination's address (port and edge) choose the way up; the way down is
  // unique (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations", 2010).
  std::uint32_t next(std::uint32_t at, std::uint32_t to) const {
    const Seat target = seat(to);
    if (at < hosts) return edge(seat(at).pod, seat(at).edge);
    if (at >= core(0)) return aggregation(target.pod, (at - core(0)) / half);
    const bool is_edge = at < aggregation(0, 0);
    const std::uint32_t index = at - (is_edge ? edge(0, 0) : aggregation(0, 0)), pod = index / half;
    if (is_edge) return at == edge(target.pod, target.edge) ? to : aggregation(pod, target.port);
    return pod == target.pod ? edge(pod, target.edge) : core(index % half * half + target.edge);
  }
};

// A grid that is closed in every dimension. Consecutive nodes are a golden section of the grid apart, so even
// a few servers are spread over it. Points without a node are switches.
struct Torus {
  std::vector<std::uint32_t> size;
  std::vector<std::uint32_t> vertex_at;  // by point, the last dimension fastest
  std::vector<std::uint32_t> point_of;   // by vertex

  Torus(const std::vector<std::int64_t>& dimensions) : size(dimensions.begin(), dimensions.end()) {
    const auto points = std::accumulate(size.begin(), size.end(), 1U, std::multiplies<>{});
    std::uint32_t step = std::max(1U, points * 618 / 1000);
    while (std::gcd(step, points) != 1) --step;
    vertex_at.resize(points);
    for (std::uint32_t vertex = 0, point = 0; vertex < points; ++vertex, point = (point + step) % points) {
      point_of.push_back(point);
      vertex_at[point] = vertex;
    }
  }

  // The next point along dimension d, whose points are `stride` apart.
  std::uint32_t ahead(std::uint32_t point, std::uint32_t n, std::uint32_t stride) const {
    const std::uint32_t x = point / stride % n;
    return x + 1 < n ? point + stride : point - x * stride;
  }
  std::uint32_t behind(std::uint32_t point, std::uint32_t n, std::uint32_t stride) const {
    return point / stride % n > 0 ? point - stride : point + (n - 1) * stride;
  }

  // Dimension order, from the first dimension on. Takes the shorter direction, forward if both are equal.
  std::uint32_t next(std::uint32_t at, std::uint32_t to) const {
    const std::uint32_t here = point_of[at], there = point_of[to];
    auto stride = static_cast<std::uint32_t>(vertex_at.size());
    for (const std::uint32_t n : size) {
      stride /= n;
      const std::uint32_t distance = (there / stride % n + n - here / stride % n) % n;
      if (distance == 0) continue;
      return vertex_at[distance <= n / 2 ? ahead(here, n, stride) : behind(here, n, stride)];
    }
    return to;
  }
};

// Kim et al. (ISCA 2008), minimal routing: at most one local link, one global link, one local link.
struct Dragonfly {
  std::uint32_t hosts, groups, routers;

  std::uint32_t router(std::uint32_t group, std::uint32_t i) const { return hosts + group * routers + i; }
  // Distributes the nodes over the groups in turn, then over a group's routers.
  std::uint32_t router_of(std::uint32_t node) const { return router(node % groups, node / groups % routers); }
  // The router of group `from` with the link to group `to`. The routers of a group get the links in turn.
  std::uint32_t gateway(std::uint32_t from, std::uint32_t to) const {
    return router(from, (to + groups - from - 1) % groups % routers);
  }
  std::uint32_t next(std::uint32_t at, std::uint32_t to) const {
    if (at < hosts) return router_of(at);
    if (at == router_of(to)) return to;
    const std::uint32_t here = (at - hosts) / routers, there = to % groups;
    if (here == there) return router_of(to);
    return at == gateway(here, there) ? gateway(there, here) : gateway(here, there);
  }
};

}  // namespace

Topology fat_tree(const ClusterSpec& cluster) {
  const auto half = static_cast<std::uint32_t>(fat_tree_ports(cluster) / 2);
  const FatTree tree{.hosts = node_count(cluster), .half = half};
  Topology t;
  t.hosts = tree.hosts;
  t.vertices = tree.core(half * half);
  for (std::uint32_t host = 0; host < t.hosts; ++host) connect(t, cluster.network, host, tree.next(host, 0));
  for (std::uint32_t pod = 0; pod < 2 * half; ++pod) {
    for (std::uint32_t i = 0; i < half; ++i) {
      for (std::uint32_t j = 0; j < half; ++j) {
        connect(t, cluster.network, tree.edge(pod, i), tree.aggregation(pod, j));
        connect(t, cluster.network, tree.aggregation(pod, i), tree.core(i * half + j));
      }
    }
  }
  t.next = [tree](std::uint32_t at, std::uint32_t to) { return tree.next(at, to); };
  return t;
}

Topology torus(const ClusterSpec& cluster) {
  const Torus grid(torus_dimensions(cluster));
  Topology t;
  t.hosts = node_count(cluster);
  t.vertices = static_cast<std::uint32_t>(grid.vertex_at.size());
  for (std::uint32_t point = 0; point < t.vertices; ++point) {
    std::uint32_t stride = t.vertices;
    for (const std::uint32_t n : grid.size) {
      stride /= n;
      const bool closes = point / stride % n + 1 == n;
      if (n == 1 || (n == 2 && closes)) continue;  // two points have one link
      connect(t, cluster.network, grid.vertex_at[point], grid.vertex_at[grid.ahead(point, n, stride)]);
    }
  }
  t.next = [grid](std::uint32_t at, std::uint32_t to) { return grid.next(at, to); };
  return t;
}

Topology dragonfly(const ClusterSpec& cluster) {
  const Dragonfly fly{.hosts = node_count(cluster),
                      .groups = static_cast<std::uint32_t>(dragonfly_groups(cluster)),
                      .routers = static_cast<std::uint32_t>(cluster.network.routers)};
  Topology t;
  t.hosts = fly.hosts;
  t.vertices = fly.router(fly.groups, 0);
  for (std::uint32_t host = 0; host < t.hosts; ++host) connect(t, cluster.network, host, fly.router_of(host));
  for (std::uint32_t group = 0; group < fly.groups; ++group) {
    for (std::uint32_t i = 0; i < fly.routers; ++i) {
      for (std::uint32_t j = i + 1; j < fly.routers; ++j)
        connect(t, cluster.network, fly.router(group, i), fly.router(group, j));
    }
    for (std::uint32_t other = group + 1; other < fly.groups; ++other)
      connect(t, cluster.network, fly.gateway(group, other), fly.gateway(other, group));
  }
  t.next = [fly](std::uint32_t at, std::uint32_t to) { return fly.next(at, to); };
  return t;
}

// Searches for a ring over neighbours. In a round of a ring every worker sends to the next worker at the same
// time, so a round takes as long as the fullest link. Each direction of a link needs some time for the ring's
// messages; the search minimises the sum of the squares of these times. The result is a short ring that
// shares few links. NCCL also searches for its rings, over the links of a machine. The search is greedy, from
// worker 0 on. A ring of few workers is then improved as long as moving one worker, or reversing a part,
// makes it better. The search is not random; among equal routes it takes the route to the lowest worker.

namespace {

using Order = std::vector<std::uint32_t>;  // workers, in ring order

class RingSearch {
 public:
  RingSearch(const Scenario& scenario, Topology topology)
      : cluster_(scenario.cluster),
        topology_(std::move(topology)),
        paths_(topology_),
        messages_(2 * topology_.links.size()) {
    // Time per byte as a multiple of the fastest link's, so usual networks have whole numbers.
    double fastest = 0;
    for (const TopologyLink& link : topology_.links) fastest = std::max(fastest, link.bandwidth);
    for (const TopologyLink& link : topology_.links) slowness_.push_back(fastest / link.bandwidth);
  }

  Order find(std::uint32_t workers) {
    Order plain(workers);
    std::iota(plain.begin(), plain.end(), 0U);
    Order found = improved(nearest(plain));
    return cost(plain) <= cost(found) ? plain : found;
  }

 private:
  static constexpr std::size_t most_improved = 64;  // an improvement tries N^2 changes of a ring of N routes

  // The time of the fullest link, and the sum of the squares of all times.
  using Cost = std::pair<double, double>;

  std::vector<Hop> way(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t first = 1;  // node 0 is the scheduler; a ring has no servers
    return paths_.between(host_of(cluster_, first + from), host_of(cluster_, first + to));
  }
  static std::size_t direction(const Hop& hop) { return 2 * std::size_t{hop.link} + (hop.forward ? 0 : 1); }

  void empty() { std::ranges::fill(messages_, 0); }
  void fill(const std::vector<Hop>& hops) {
    for (const Hop& hop : hops) ++messages_[direction(hop)];
  }

  Cost cost(const Order& order) {
    empty();
    for (std::size_t i = 0; i < order.size(); ++i) fill(way(order[i], order[(i + 1) % order.size()]));
    Cost sum{0, 0};
    for (std::size_t d = 0; d < messages_.size(); ++d) {
      const double time = messages_[d] * slowness_[d / 2];
      sum.first = std::max(sum.first, time);
      sum.second += time * time;
    }
    return sum;
  }

  // The cost of one more message on a route, and the route's latency.
  std::pair<double, double> price(const std::vector<Hop>& hops) const {
    std::pair<double, double> sum{0, 0};
    for (const Hop& hop : hops) {
      const double slowness = slowness_[hop.link];
      sum.first += (2 * messages_[direction(hop)] + 1) * slowness * slowness;
      sum.second += topology_.links[hop.link].latency;
    }
    return sum;
  }

  Order nearest(Order left) {
    Order order{left.front()};
    left.erase(left.begin());
    empty();
    while (!left.empty()) {
      auto best = left.begin();
      std::pair<double, double> least{};
      for (auto next = left.begin(); next != left.end(); ++next) {
        const std::pair<double, double> asked = price(way(order.back(), *next));
        if (next != left.begin() && !(asked < least)) continue;
        best = next;
        least = asked;
      }
      fill(way(order.back(), *best));
      order.push_back(*best);
      left.erase(best);
    }
    return order;
  }

  Order improved(Order order) {
    if (order.size() > most_improved) return order;
    Cost least = cost(order);
    const auto take = [&](Order other) {
      const Cost asked = cost(other);
      if (!(asked < least)) return false;
      least = asked;
      order = std::move(other);
      return true;
    };
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t i = 1; i < order.size(); ++i) {
        for (std::size_t j = 1; j < order.size(); ++j) {
          if (i == j) continue;
          Order moved = order;
          moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(i));
          moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(j), order[i]);
          goes_on = take(std::move(moved)) || goes_on;
          if (i > j) continue;
          Order turned = order;
          std::reverse(turned.begin() + static_cast<std::ptrdiff_t>(i),
                       turned.begin() + static_cast<std::ptrdiff_t>(j) + 1);
          goes_on = take(std::move(turned)) || goes_on;
        }
      }
    }
    return order;
  }

  const ClusterSpec& cluster_;
  Topology topology_;
  Paths paths_;
  std::vector<double> slowness_;  // by link
  std::vector<double> messages_;  // of the ring: by link and direction
};

}  // namespace

void give_ranks(Scenario& scenario) {
  constexpr std::int64_t most_searched = 2048;  // a search computes one route per two pairs
  ArchitectureSpec& spec = scenario.architecture;
  spec.ranks.clear();
  const TopologyKind kind = scenario.cluster.network.topology;
  const bool is_plain = spec.rank_order == RankOrder::index || kind == TopologyKind::star ||
                        kind == TopologyKind::simgrid_xml || scenario.cluster.workers > most_searched;
  if (is_plain) return;
  const auto workers = static_cast<std::uint32_t>(scenario.cluster.workers);
  const Order order = RingSearch(scenario, make_topology(scenario.cluster)).find(workers);
  const std::vector<std::uint32_t> along = ranks_along(spec.algorithm, workers);
  spec.ranks.resize(workers);
  for (std::uint32_t place = 0; place < workers; ++place) spec.ranks[order[place]] = along[place];
}

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

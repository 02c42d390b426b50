// Topologies with a fixed shape, each with its own routing. All links are equal.
#include <algorithm>
#include <numeric>

#include "sim/cluster/topology.hpp"
#include "sim/scenario/spec/network_size.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
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

}  // namespace psim

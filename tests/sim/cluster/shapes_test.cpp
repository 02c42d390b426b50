// Goal: fat tree, torus and dragonfly are wired as in their papers, and routed as they say.
#include <algorithm>
#include <map>
#include <set>

#include "sim/cluster/paths.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// A cluster of so many nodes in all: the scheduler, one server, workers.
ClusterSpec cluster(TopologyKind kind, std::int64_t nodes) {
  ClusterSpec spec;
  spec.workers = nodes - 2;
  spec.servers = 1;
  spec.network.topology = kind;
  return spec;
}

std::vector<std::size_t> degrees(const Topology& t) {
  std::vector<std::size_t> degree(t.vertices, 0);
  for (const TopologyLink& link : t.links) ++degree[link.a], ++degree[link.b];
  return degree;
}

// The path, after a check that its hops are joined and end where they should.
std::vector<Hop> path(const Topology& t, Paths& paths, std::uint32_t from, std::uint32_t to) {
  const std::vector<Hop> hops = paths.between(from, to);
  std::uint32_t at = from;
  for (const Hop& hop : hops) {
    const TopologyLink& link = t.links.at(hop.link);
    REQUIRE((hop.forward ? link.a : link.b) == at);
    at = hop.forward ? link.b : link.a;
  }
  REQUIRE(at == to);
  return hops;
}

// How many pairs (from, to) have so many hops.
std::map<std::size_t, int> hop_counts(const Topology& t) {
  Paths paths(t);
  std::map<std::size_t, int> counts;
  for (std::uint32_t a = 0; a < t.hosts; ++a) {
    for (std::uint32_t b = 0; b < t.hosts; ++b)
      if (a != b) ++counts[path(t, paths, a, b).size()];
  }
  return counts;
}

}  // namespace

TEST_CASE("fat tree: 5 k^2 / 4 switches of k ports, k^3 / 4 hosts, 3 k^3 / 4 links", "[topology]") {
  for (const int k : {2, 4, 6}) {
    INFO("k = " << k);
    const auto hosts = static_cast<std::uint32_t>(k * k * k / 4),
               edges = static_cast<std::uint32_t>(k * k / 2);
    const Topology t = make_topology(cluster(TopologyKind::fat_tree, hosts));
    CHECK(t.hosts == hosts);
    CHECK(t.vertices == hosts + static_cast<std::uint32_t>(5 * k * k / 4));
    CHECK(t.links.size() == 3 * hosts);
    const std::vector<std::size_t> degree = degrees(t);
    for (std::uint32_t v = 0; v < t.vertices; ++v) CHECK(degree[v] == (v < hosts ? 1U : std::size_t(k)));
    // Two hops below one edge switch, four in a pod, six between pods.
    const int below = k / 2, pod = k * k / 4, all = static_cast<int>(hosts);
    std::map<std::size_t, int> expected;
    if (below > 1) expected[2] = all * (below - 1);
    if (pod > below) expected[4] = all * (pod - below);
    expected[6] = all * (all - pod);
    CHECK(hop_counts(t) == expected);
    // Bisection: half of the pods have as many links to the core as they have hosts.
    std::size_t up = 0;
    const std::uint32_t core = hosts + 2 * edges;
    for (const TopologyLink& link : t.links)
      if (link.b >= core && link.a < hosts + edges + edges / 2) ++up;
    CHECK(up == hosts / 2);
  }
}

TEST_CASE("fat tree: D-mod-k uses all core links alike, and the way down is the destination's own",
          "[topology]") {
  for (const std::uint32_t k : {4U, 6U}) {
    INFO("k = " << k);
    const std::uint32_t hosts = k * k * k / 4, core = hosts + k * k;
    const Topology t = make_topology(cluster(TopologyKind::fat_tree, hosts));
    Paths paths(t);
    std::map<std::pair<std::uint32_t, bool>, std::uint32_t> load;   // of the core's links, up and down
    std::map<std::uint32_t, std::set<std::uint32_t>> destinations;  // of the core's links, downwards
    for (std::uint32_t a = 0; a < hosts; ++a) {
      for (std::uint32_t b = 0; b < hosts; ++b) {
        for (const Hop& hop : path(t, paths, a, b)) {
          if (t.links[hop.link].b < core) continue;
          ++load[{hop.link, hop.forward}];
          if (!hop.forward) destinations[hop.link].insert(b);
        }
      }
    }
    const std::uint32_t core_links = hosts;
    CHECK(load.size() == 2 * core_links);
    for (const auto& [link, count] : load) CHECK(count == hosts - k * k / 4);
    for (const auto& [link, to] : destinations) CHECK(to.size() == 1);
  }
}

TEST_CASE("fat tree: nodes are spread over the pods, the first ones over the core", "[topology]") {
  const Topology t = make_topology(cluster(TopologyKind::fat_tree, 54));  // six pods of three edge switches
  std::map<std::uint32_t, std::set<std::uint32_t>> of_pod;
  for (std::uint32_t host = 0; host < 54; ++host) of_pod[(t.links[host].b - 54) / 3].insert(host % 6);
  CHECK(of_pod.size() == 6);
  for (const auto& [pod, remainders] : of_pod) CHECK(remainders.size() == 1);
  Paths paths(t);
  std::set<std::uint32_t> cores;
  for (std::uint32_t server = 1; server <= 5; ++server) {
    const std::vector<Hop> hops = path(t, paths, 0, server);
    cores.insert(t.links[hops[2].link].b);
  }
  CHECK(cores.size() == 5);
}

TEST_CASE("the least fat tree, torus and dragonfly that hold all nodes", "[topology]") {
  CHECK(least_fat_tree_ports(2) == 2);
  CHECK(least_fat_tree_ports(3) == 4);
  CHECK(least_fat_tree_ports(16) == 4);
  CHECK(least_fat_tree_ports(17) == 6);
  CHECK(least_fat_tree_ports(8192) == 32);
  CHECK(fat_tree_capacity(48) == 27648);  // Al-Fares et al., section 2.2
  CHECK(least_torus(27) == std::vector<std::int64_t>{3, 3, 3});
  CHECK(least_torus(28) == std::vector<std::int64_t>{4, 3, 3});
  CHECK(least_torus(2) == std::vector<std::int64_t>{2, 1, 1});
  for (std::int64_t n = 3; n < 300; ++n) CHECK(torus_capacity(least_torus(n)) >= static_cast<double>(n));
  CHECK(dragonfly_groups(cluster(TopologyKind::dragonfly, 16)) == 2);
  CHECK(dragonfly_groups(cluster(TopologyKind::dragonfly, 17)) == 3);
}

TEST_CASE("torus: links, degree, diameter and mean distance", "[topology]") {
  ClusterSpec spec = cluster(TopologyKind::torus, 32);
  spec.network.dimensions = {4, 4, 2};
  const Topology t = make_topology(spec);
  CHECK(t.vertices == 32);
  CHECK(t.links.size() == 32 + 32 + 16);  // two points of a dimension of two have one link
  for (const std::size_t degree : degrees(t)) CHECK(degree == 5);
  const std::map<std::size_t, int> counts = hop_counts(t);
  CHECK(counts.rbegin()->first == 2 + 2 + 1);
  int sum = 0;
  for (const auto& [hops, count] : counts) sum += static_cast<int>(hops) * count;
  CHECK(sum == 32 * 32 * 5 / 2);  // a ring of even n has the mean distance n / 4, to itself included
}

TEST_CASE("torus: dimension order is a shortest way, also between points without a node", "[topology]") {
  for (const auto& dimensions :
       std::vector<std::vector<std::int64_t>>{{7}, {5, 3}, {2, 2, 2, 2}, {1, 9, 1}, {3, 4, 5}, {40, 1}}) {
    ClusterSpec spec = cluster(TopologyKind::torus, 7);
    spec.network.dimensions = dimensions;
    const Topology t = make_topology(spec);
    CHECK(t.vertices == torus_capacity(dimensions));
    Paths paths(t);
    for (std::uint32_t to = 0; to < t.hosts; ++to) {
      const PathTree shortest(t, to);
      for (std::uint32_t from = 0; from < t.hosts; ++from)
        CHECK(path(t, paths, from, to).size() == shortest.path_from(from).size());
    }
  }
}

TEST_CASE("torus: of two equal ways round a ring, the one ahead", "[topology]") {
  ClusterSpec spec = cluster(TopologyKind::torus, 4);
  spec.network.dimensions = {4};
  const Topology t = make_topology(spec);  // node i at point i
  Paths paths(t);
  const auto middle = [&](std::uint32_t from, std::uint32_t to) {
    const Hop first = path(t, paths, from, to).at(0);
    return first.forward ? t.links[first.link].b : t.links[first.link].a;
  };
  CHECK(middle(0, 2) == 1);
  CHECK(middle(2, 0) == 3);
  CHECK(middle(1, 3) == 2);
  CHECK(middle(3, 1) == 0);
}

TEST_CASE("dragonfly: 72 nodes in nine groups of four routers of seven ports", "[topology]") {
  // Figure 5 of Kim et al.: p = h = 2, a = 4, N = a p (a h + 1) = 72.
  const Topology t = make_topology(cluster(TopologyKind::dragonfly, 72));
  CHECK(t.vertices == 72 + 36);
  CHECK(t.links.size() == 72 + 9 * 6 + 36);
  const std::vector<std::size_t> degree = degrees(t);
  for (std::uint32_t v = 0; v < t.vertices; ++v) CHECK(degree[v] == (v < 72 ? 1 : 7));
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> global;  // by groups
  const auto group = [](std::uint32_t router) { return (router - 72) / 4; };
  for (const TopologyLink& link : t.links)
    if (link.a >= 72 && group(link.a) != group(link.b)) ++global[std::minmax(group(link.a), group(link.b))];
  CHECK(global.size() == 36);
  for (const auto& [groups, links] : global) CHECK(links == 1);
}

TEST_CASE("dragonfly: a minimal route has one global link between groups and none within", "[topology]") {
  for (const auto& [groups, routers] :
       std::vector<std::pair<int, int>>{{9, 4}, {12, 3}, {3, 5}, {2, 1}, {6, 1}}) {
    ClusterSpec spec = cluster(TopologyKind::dragonfly, groups * routers * 2);
    spec.network.groups = groups;
    spec.network.routers = routers;
    const Topology t = make_topology(spec);
    Paths paths(t);
    const auto group = [&](std::uint32_t router) { return (router - t.hosts) / std::uint32_t(routers); };
    std::size_t longest = 0;
    for (std::uint32_t a = 0; a < t.hosts; ++a) {
      for (std::uint32_t b = 0; b < t.hosts; ++b) {
        const std::vector<Hop> hops = path(t, paths, a, b);
        longest = std::max(longest, hops.size());
        int global = 0;
        for (const Hop& hop : hops) {
          const TopologyLink& link = t.links[hop.link];
          if (link.a >= t.hosts && group(link.a) != group(link.b)) ++global;
        }
        CHECK(global == (a % std::uint32_t(groups) == b % std::uint32_t(groups) ? 0 : 1));
      }
    }
    CHECK(longest == (routers == 1 ? 3 : 5));  // a diameter of three between routers
  }
}

// Goal: nodes are wired as the scenario says, and messages take the shortest way.
#include "sim/cluster/topology.hpp"

#include <set>

#include "sim/cluster/paths.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

ClusterSpec cluster(TopologyKind kind, std::int64_t workers, std::int64_t servers) {
  ClusterSpec spec;
  spec.workers = workers;
  spec.servers = servers;
  spec.network.topology = kind;
  spec.network.bandwidth = {1000};
  spec.network.latency = {0.001};
  spec.network.racks = 3;
  spec.network.oversubscription = 4;
  return spec;
}

// The vertices on the way from `vertex` to the root, both included; checks that hops are joined.
std::vector<std::uint32_t> way(const Topology& t, const PathTree& tree, std::uint32_t vertex) {
  std::vector<std::uint32_t> vertices{vertex};
  for (const Hop& hop : tree.path_from(vertex)) {
    const TopologyLink& link = t.links.at(hop.link);
    REQUIRE((hop.forward ? link.a : link.b) == vertices.back());
    vertices.push_back(hop.forward ? link.b : link.a);
  }
  return vertices;
}

}  // namespace

TEST_CASE("in a star every node has one link to the switch", "[topology]") {
  const Topology t = make_topology(cluster(TopologyKind::star, 5, 2));
  CHECK(t.hosts == 8);
  CHECK(t.vertices == 9);
  REQUIRE(t.links.size() == 8);
  for (std::uint32_t host = 0; host < 8; ++host) {
    CHECK(t.links[host].a == host);
    CHECK(t.links[host].b == 8);
    CHECK(t.links[host].bandwidth == 1000);
    CHECK(t.links[host].latency == 0.001);
  }
  for (std::uint32_t root = 0; root < 8; ++root) {
    const PathTree tree(t, root);
    CHECK(tree.path_from(root).empty());
    for (std::uint32_t from = 0; from < 8; ++from) {
      if (from != root) CHECK(way(t, tree, from) == std::vector<std::uint32_t>{from, 8, root});
    }
  }
}

TEST_CASE("two tiers: nodes are dealt out to racks, racks hang on a thinner core", "[topology]") {
  // Scheduler 0 in rack 0; nodes 1..9 in racks 0 1 2 0 1 2 0 1 2.
  const Topology t = make_topology(cluster(TopologyKind::two_tier, 7, 2));
  CHECK(t.hosts == 10);
  CHECK(t.vertices == 14);
  REQUIRE(t.links.size() == 13);
  const std::vector<std::uint32_t> racks{10, 10, 11, 12, 10, 11, 12, 10, 11, 12};
  for (std::uint32_t host = 0; host < 10; ++host) {
    CHECK(t.links[host].a == host);
    CHECK(t.links[host].b == racks[host]);
    CHECK(t.links[host].bandwidth == 1000);
  }
  for (std::uint32_t rack = 0; rack < 3; ++rack) {
    CHECK(t.links[10 + rack].a == 10 + rack);
    CHECK(t.links[10 + rack].b == 13);
    CHECK(t.links[10 + rack].bandwidth == 3 * 1000 / 4.0);  // the scheduler has no share
    CHECK(t.links[10 + rack].latency == 0.001);
  }
}

TEST_CASE("two tiers: two hops within a rack, four between racks", "[topology]") {
  const Topology t = make_topology(cluster(TopologyKind::two_tier, 7, 2));
  const PathTree tree(t, 1);
  CHECK(way(t, tree, 4) == std::vector<std::uint32_t>{4, 10, 1});
  CHECK(way(t, tree, 0) == std::vector<std::uint32_t>{0, 10, 1});
  CHECK(way(t, tree, 5) == std::vector<std::uint32_t>{5, 11, 13, 10, 1});
  CHECK(way(t, tree, 9) == std::vector<std::uint32_t>{9, 12, 13, 10, 1});
}

TEST_CASE("racks of unequal size have cores of unequal width", "[topology]") {
  const Topology t = make_topology(cluster(TopologyKind::two_tier, 4, 1));  // nodes 1..5: two, two, one
  CHECK(t.links[6].bandwidth == 500);
  CHECK(t.links[7].bandwidth == 500);
  CHECK(t.links[8].bandwidth == 250);
  ClusterSpec full = cluster(TopologyKind::two_tier, 4, 1);
  full.network.oversubscription = 1;
  CHECK(make_topology(full).links[6].bandwidth == 2000);
}

TEST_CASE("paths have the fewest hops, and among those the least latency", "[topology]") {
  // 0 to 3: by 1 or by 2 in two hops, by 4 and 5 in three that are faster.
  const Topology t{.hosts = 4,
                   .vertices = 6,
                   .links = {{0, 1, 1, 0.5},
                             {1, 3, 1, 0.5},
                             {2, 0, 1, 0.3},
                             {3, 2, 1, 0.3},
                             {0, 4, 1, 0.01},
                             {4, 5, 1, 0.01},
                             {5, 3, 1, 0.01}}};
  CHECK(way(t, PathTree(t, 3), 0) == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(way(t, PathTree(t, 0), 3) == std::vector<std::uint32_t>{3, 2, 0});
  const auto path = PathTree(t, 3).path_from(0);
  CHECK(!path[0].forward);  // the links lead from 2 to 0 and from 3 to 2
  CHECK(!path[1].forward);
}

TEST_CASE("a chain of switches is walked from end to end", "[topology]") {
  const Topology t{.hosts = 1,
                   .vertices = 6,
                   .links = {{1, 0, 1, 1}, {1, 2, 1, 1}, {3, 2, 1, 1}, {3, 4, 1, 1}, {4, 5, 1, 1}}};
  CHECK(way(t, PathTree(t, 0), 5) == std::vector<std::uint32_t>{5, 4, 3, 2, 1, 0});
  CHECK(way(t, PathTree(t, 5), 0) == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});
  CHECK(way(t, PathTree(t, 2), 4) == std::vector<std::uint32_t>{4, 3, 2});
}

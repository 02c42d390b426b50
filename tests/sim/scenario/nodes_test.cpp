// Goal: nodes have numbers and names, a graph of one's own links is what its names say, and only those who
// talk need a way to each other.
#include "sim/scenario/spec/nodes.hpp"

#include "sim/cluster/paths.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

ClusterSpec cluster(std::int64_t workers, std::int64_t servers) {
  ClusterSpec spec;
  spec.workers = workers;
  spec.servers = servers;
  spec.network.topology = TopologyKind::graph;
  spec.network.bandwidth = {1000};
  spec.network.latency = {0.001};
  return spec;
}

}  // namespace

TEST_CASE("a node's name and number belong together", "[nodes]") {
  const ClusterSpec c = cluster(11, 2);
  CHECK(node_count(c) == 14);
  CHECK(node_name(c, 0) == "scheduler");
  CHECK(node_name(c, 2) == "server 1");
  CHECK(node_name(c, 3) == "worker 0");
  CHECK(node_name(c, 13) == "worker 10");
  for (std::uint32_t node = 0; node < 14; ++node) CHECK(node_named(c, node_name(c, node)) == node);
  for (const char* other : {"", "server", "server ", "server 2", "worker 11", "worker 01", "worker -1",
                            "worker 1 ", "Worker 1", "scheduler 0", "switch 1", "worker 99999999999"})
    CHECK(!node_named(c, other));
}

TEST_CASE("a name that was probably meant for a node", "[nodes]") {
  CHECK(meant_node("worker 99") == "worker 99");
  CHECK(meant_node("Worker-3") == "worker 3");
  CHECK(meant_node("server03") == "server 3");
  CHECK(meant_node("SCHEDULER") == "scheduler");
  for (const char* other : {"", "switch 1", "a", "worker switch", "server rack 1", "core", "1"})
    CHECK(meant_node(other).empty());
}

TEST_CASE("who talks: scheduler and servers with everybody, and the first server that decides", "[nodes]") {
  Scenario s;
  s.cluster = cluster(2, 3);  // 0 | 1 2 3 | 4 5
  CHECK(talking_pairs(s).size() == 5 + 3 * 2);
  CHECK(talks(s, 0, 5));
  CHECK(talks(s, 3, 4));
  CHECK(talks(s, 4, 3));
  CHECK(!talks(s, 4, 5));
  CHECK(!talks(s, 1, 2));
  CHECK(!talks(s, 2, 2));
  s.consistency.model = "k-sync";
  s.consistency.k = 1;
  CHECK(talks(s, 1, 2));
  CHECK(talks(s, 3, 1));
  CHECK(!talks(s, 2, 3));
}

TEST_CASE("a database is the last node, and workers alone talk to it", "[nodes]") {
  Scenario scenario;
  scenario.cluster = cluster(2, 1);
  CHECK(!database_node(scenario.cluster));
  CHECK(!node_named(scenario.cluster, "database"));
  scenario.cluster.delivery.source = Delivery::database;
  CHECK(node_count(scenario.cluster) == 5);
  CHECK(database_node(scenario.cluster) == 4U);
  CHECK(node_name(scenario.cluster, 4) == "database");
  CHECK(node_name(scenario.cluster, 3) == "worker 1");
  CHECK(node_named(scenario.cluster, "database") == 4U);
  CHECK(meant_node("Database") == "database");
  for (std::uint32_t node = 0; node < 5; ++node) CHECK(talks(scenario, 4, node) == (node == 2 || node == 3));
}

TEST_CASE("a graph's links lead where they say, and names that are no node's are switches",
          "[nodes][topology]") {
  ClusterSpec c = cluster(1, 1);  // nodes 0 to 2
  c.network.links = {{.between = {"scheduler", "b"}, .bandwidth = {}, .latency = {}},
                     {.between = {"a", "b"}, .bandwidth = BytesPerSecond{7}, .latency = {}},
                     {.between = {"worker 0", "a"}, .bandwidth = {}, .latency = Seconds{0.5}},
                     {.between = {"b", "server 0"}, .bandwidth = {}, .latency = {}}};
  const Topology t = make_topology(c);
  CHECK(t.hosts == 3);
  CHECK(t.vertices == 5);
  REQUIRE(t.links.size() == 4);
  CHECK((t.links[0].a == 0 && t.links[0].b == 3));
  CHECK((t.links[1].a == 4 && t.links[1].b == 3));
  CHECK((t.links[2].a == 2 && t.links[2].b == 4));
  CHECK(t.links[1].bandwidth == 7);
  CHECK(t.links[1].latency == 0.001);
  CHECK(t.links[2].bandwidth == 1000);
  CHECK(t.links[2].latency == 0.5);
}

TEST_CASE("of equal ways the one by the lowest vertex, then by the lowest link", "[topology]") {
  // 0 to 3 by 4, 5 or 6, listed backwards; two links between 3 and 4.
  const Topology t{
      .hosts = 4,
      .vertices = 7,
      .links = {
          {6, 0, 1, 1}, {6, 3, 1, 1}, {5, 0, 1, 1}, {3, 5, 1, 1}, {0, 4, 1, 1}, {3, 4, 1, 1}, {4, 3, 1, 1}}};
  Paths paths(t);
  const std::vector<Hop> there = paths.between(0, 3), back = paths.between(3, 0);
  REQUIRE(there.size() == 2);
  CHECK(there[0].link == 4);
  CHECK(there[1].link == 5);
  REQUIRE(back.size() == 2);
  CHECK(back[0].link == 5);
  CHECK(back[1].link == 4);
  CHECK(back[0].forward != there[1].forward);
}

TEST_CASE("inference nodes come last, and servers alone talk to them", "[nodes]") {
  Scenario scenario;
  scenario.cluster = cluster(2, 1);
  CHECK(!node_named(scenario.cluster, "inference 0"));
  CHECK(first_inference_node(scenario.cluster) == node_count(scenario.cluster));
  scenario.cluster.delivery.source = Delivery::database;
  scenario.cluster.inference = {.given = true, .nodes = 2};
  CHECK(node_count(scenario.cluster) == 7);
  CHECK(first_inference_node(scenario.cluster) == 5);
  CHECK(node_name(scenario.cluster, 4) == "database");
  CHECK(node_name(scenario.cluster, 6) == "inference 1");
  CHECK(node_named(scenario.cluster, "inference 1") == 6U);
  CHECK(!node_named(scenario.cluster, "inference 2"));
  CHECK(meant_node("Inference_1") == "inference 1");
  for (std::uint32_t node = 0; node < 7; ++node) {
    CHECK(talks(scenario, 6, node) == (node == 1));
    CHECK(talks(scenario, node, 5) == (node == 1));
  }
}

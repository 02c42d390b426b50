// Goal: a ring over neighbours shares as few links as it can.
#include "sim/scenario/spec/nodes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/paths.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Scenario scenario(TopologyKind kind, std::int64_t workers) {
  Scenario s;
  s.architecture.kind = Architecture::all_reduce;
  s.cluster.workers = workers;
  s.cluster.servers = 0;
  s.cluster.network.topology = kind;
  return s;
}

// How many messages of a ring cross each link, by direction.
std::map<std::pair<std::uint32_t, bool>, int> messages_of(const Scenario& s) {
  const Topology topology = make_topology(s.cluster);
  Paths paths(topology);
  const auto workers = static_cast<std::uint32_t>(s.cluster.workers);
  std::vector<std::uint32_t> order(workers);
  for (std::uint32_t w = 0; w < workers; ++w) order.at(s.architecture.rank_of(w)) = w;
  std::map<std::pair<std::uint32_t, bool>, int> messages;
  for (std::uint32_t i = 0; i < workers; ++i) {
    for (const Hop& hop : paths.between(1 + order[i], 1 + order[(i + 1) % workers]))
      ++messages[{hop.link, hop.forward}];
  }
  return messages;
}

int fullest(const Scenario& s) {
  int most = 0;
  for (const auto& [link, count] : messages_of(s)) most = std::max(most, count);
  return most;
}

void check_permutation(std::vector<std::uint32_t> ranks, std::int64_t workers) {
  std::ranges::sort(ranks);
  std::vector<std::uint32_t> all(static_cast<std::size_t>(workers));
  std::iota(all.begin(), all.end(), 0U);
  CHECK(ranks == all);
}

}  // namespace

TEST_CASE("a ring over neighbours has one message on each link", "[ranks]") {
  for (const TopologyKind kind :
       {TopologyKind::two_tier, TopologyKind::fat_tree, TopologyKind::torus, TopologyKind::dragonfly}) {
    for (const std::int64_t workers : {2, 7, 15, 26}) {
      INFO(static_cast<int>(kind) << ", " << workers);
      Scenario s = scenario(kind, workers);
      give_ranks(s);
      check_permutation(s.architecture.ranks, workers);
      CHECK(s.architecture.ranks.front() == 0);
      CHECK(fullest(s) == 1);
    }
  }
}

TEST_CASE("a ring of 26 workers in a torus of 27 points has one link between neighbours", "[ranks]") {
  Scenario s = scenario(TopologyKind::torus, 26);
  give_ranks(s);
  CHECK(messages_of(s).size() == 26);
  CHECK(fullest(s) == 1);
}

TEST_CASE("by index a ring fills the uplinks", "[ranks]") {
  Scenario s = scenario(TopologyKind::two_tier, 14);
  s.architecture.rank_order = RankOrder::index;
  give_ranks(s);
  CHECK(s.architecture.ranks.empty());
  CHECK(fullest(s) == 7);
}

TEST_CASE("where one switch connects all the ranks are the workers' indices", "[ranks]") {
  Scenario s = scenario(TopologyKind::star, 9);
  give_ranks(s);
  CHECK(s.architecture.ranks.empty());
}

TEST_CASE("halving-doubling exchanges halves within a rack", "[ranks]") {
  Scenario s = scenario(TopologyKind::two_tier, 8);
  s.architecture.algorithm = AllReduceAlgorithm::halving_doubling;
  give_ranks(s);
  // Workers 0, 2, 4, 6 are in one rack, the others in the other one; only rank distance 1 leaves it.
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = 0; b < 8; ++b) {
      const std::uint32_t distance = s.architecture.rank_of(a) ^ s.architecture.rank_of(b);
      if (distance == 2 || distance == 4) CHECK(a % 2 == b % 2);
    }
  }
}

TEST_CASE("a ring goes over the fast links where others are slow", "[ranks]") {
  // Each worker has fast links to those five numbers away, and slow ones to those beside it. By the fast ones
  // alone a ring gets to all of them. The longer ring is only searched, and not improved.
  for (const std::int64_t workers : {12, 66}) {
    INFO(workers);
    Scenario s = scenario(TopologyKind::graph, workers);
    const auto link = [&](std::int64_t from, std::int64_t to, double bandwidth) {
      const auto name = [workers](std::int64_t worker) {
        return "worker " + std::to_string(worker % workers);
      };
      s.cluster.network.links.push_back(
          {.between = {name(from), name(to)}, .bandwidth = BytesPerSecond{bandwidth}, .latency = {}});
    };
    for (std::int64_t w = 0; w < workers; ++w) {
      link(w, w + 1, 1e8);
      link(w, w + 5, 1e9);
    }
    s.cluster.network.links.push_back({.between = {"scheduler", "worker 0"}, .bandwidth = {}, .latency = {}});
    give_ranks(s);
    check_permutation(s.architecture.ranks, workers);
    const Topology topology = make_topology(s.cluster);
    for (const auto& [crossed, messages] : messages_of(s)) {
      CHECK(topology.links[crossed.first].bandwidth == 1e9);
      CHECK(messages == 1);
    }
  }
}

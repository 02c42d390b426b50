// What a worker reads: under ssp with bound s, at clock c, every update of clocks up to c-s-1 (Ho et al.,
// NIPS 2013); under every model its own pushes. Asserted on every answered pull of every run here.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Cluster {
  int workers = 5, servers = 1;
  std::string consistency, compute, more;
};

// A real network, so that pushes, pulls and answers overtake one another.
ScenarioBuilder over_network(const Cluster& c) {
  return phantom(10'000)
      .set({"training.batch_size=1", "training.steps=120", "compute.time=10ms",
            "cluster.network.bandwidth=100Mbps", "cluster.network.latency=100us"})
      .with("consistency", c.consistency)
      .with("compute", c.compute)
      .set("cluster.workers", c.workers)
      .set("cluster.servers", c.servers)
      .with(c.more);
}

const std::string noisy = "distribution = \"lognormal\"\ncv = 0.7";
const std::string slow_worker =
    "[[straggler]]\nworkers = [1]\nslowdown = 4.0\n[[straggler]]\nworkers = [2]\nslowdown = 9.0\nprobability "
    "= 0.1\n";

// Clocks of each worker that a server has applied.
using Applied = std::map<std::pair<int, int>, std::int64_t>;

// Every read sees what the bound promises. `bound(clock)`: s at that clock.
template <class Bound>
void check_reads(const Cluster& cluster, Bound bound) {
  const TracedRun run = over_network(cluster).trace();
  INFO(cluster.consistency << ", S = " << cluster.servers << "\n" << cluster.more);
  Applied applied;
  std::int64_t reads = 0, violations = 0, own_missing = 0, out_of_order = 0;
  for (const RecordedEvent& e : run.events) {
    if (e.is("push_outcome", "applied")) {
      if (applied[{e.node, e.peer}]++ != e["clock"]) ++out_of_order;
    }
    if (!e.is("sent", "weights")) continue;
    ++reads;
    for (int w = 0; w < cluster.workers; ++w) {
      if (applied[{e.node, 1 + cluster.servers + w}] < e["clock"] - bound(e["clock"])) ++violations;
    }
    if (applied[{e.node, e.peer}] < e["clock"]) ++own_missing;
  }
  CHECK(reads == 120 * cluster.workers * cluster.servers);
  CHECK(violations == 0);
  CHECK(own_missing == 0);
  CHECK(out_of_order == 0);  // each push is applied once
}

std::string ssp(int s) { return fmt::format("model = \"ssp\"\nstaleness = {}", s); }

}  // namespace

TEST_CASE("ssp: a read at clock c sees every update up to c-s-1, and one's own", "[oracle][slow]") {
  for (const int s : {0, 1, 2, 5, 200}) {
    for (const int servers : {1, 3}) {
      check_reads({.servers = servers, .consistency = ssp(s), .compute = noisy, .more = slow_worker},
                  [&](std::int64_t) { return s; });
    }
  }
  check_reads({.consistency = ssp(2), .compute = "distribution = \"exponential\""},
              [](std::int64_t) { return 2; });
  check_reads({.consistency = "model = \"bsp\"", .compute = noisy, .more = slow_worker},
              [](std::int64_t) { return 0; });
}

TEST_CASE("ssp with a schedule and dssp: reads keep the moving bound", "[oracle]") {
  const auto scheduled = [](std::int64_t clock) { return clock < 40 ? 0 : clock < 80 ? 4 : 1; };
  check_reads({.servers = 2,
               .consistency = "model = \"ssp\"\nstaleness_schedule = [[0, 0], [40, 4], [80, 1]]",
               .compute = noisy,
               .more = slow_worker},
              scheduled);
  check_reads({.servers = 2,
               .consistency = "model = \"dssp\"\nstaleness = 1\nstaleness_max = 6",
               .compute = noisy,
               .more = slow_worker},
              [](std::int64_t) { return 6; });
}

TEST_CASE("ssp: no worker is more than s clocks ahead", "[oracle][slow]") {
  for (const int s : {0, 1, 3, 10}) {
    for (const std::string& compute :
         {noisy, std::string("distribution = \"exponential\""), std::string("distribution = \"constant\"")}) {
      const Json run =
          over_network({.servers = 2, .consistency = ssp(s), .compute = compute, .more = slow_worker}).run();
      INFO("s = " << s << ", " << compute);
      CHECK(run["clock_gap"]["max"] <= s);
      CHECK(run["clock_gap"]["max"] >= std::min(s, 3));  // the straggler makes the bound bite
      for (const Json& worker : run["workers"]) CHECK(worker["clocks"] == 120);
    }
  }
}

TEST_CASE("ssp: any finite bound runs at the slowest worker's rate", "[oracle]") {
  for (const int s : {0, 1, 4, 20}) {
    const Json run = toml({.consistency = ssp(s),
                           .workers = 4,
                           .duration = 1001.5,
                           .compute = "distribution = \"constant\"",
                           .cluster = "[[straggler]]\nworkers = [2]\nslowdown = 4.0\n"})
                         .run();
    INFO("s = " << s);
    CHECK(run["workers"][2]["clocks"] == 250);
    for (const int fast : {0, 1, 3}) CHECK(run["workers"][fast]["clocks"] == 250 + s + 1);
    CHECK(run["clock_gap"]["max"] == s);
  }
}

TEST_CASE("under every model the answer to a pull has waited for the worker's own pushes", "[oracle][slow]") {
  const std::vector<std::string> models{"model = \"bsp\"",
                                        ssp(2),
                                        "model = \"asp\"",
                                        "model = \"dssp\"",
                                        "model = \"k-sync\"\nk = 3",
                                        "model = \"k-sync\"\nk = 3\nlate = \"drop\"",
                                        "model = \"k-batch-sync\"\nk = 3",
                                        "model = \"k-batch-sync\"\nk = 3\nlate = \"drop\"",
                                        "model = \"k-async\"\nk = 3",
                                        "model = \"k-batch-async\"\nk = 3"};
  for (const std::string& consistency : models) {
    const Cluster cluster{.servers = 2, .consistency = consistency, .compute = noisy, .more = slow_worker};
    INFO(consistency);
    std::map<std::pair<int, int>, std::int64_t> sent, arrived;  // by (server, worker)
    std::map<std::pair<int, int>, std::map<std::int64_t, std::int64_t>>
        asked;  // pushes sent before pull `number`
    std::int64_t reads = 0, too_early = 0;
    for (const RecordedEvent& e : over_network(cluster).trace().events) {
      if (e.is("sent", "push")) ++sent[{e.peer, e.node}];
      if (e.is("received", "push")) ++arrived[{e.node, e.peer}];
      if (e.is("sent", "pull")) asked[{e.peer, e.node}][e["pull"]] = sent[{e.peer, e.node}];
      if (!e.is("sent", "weights")) continue;
      ++reads;
      if (arrived[{e.node, e.peer}] < asked[{e.node, e.peer}].at(e["pull"])) ++too_early;
    }
    CHECK(reads > 200);
    CHECK(too_early == 0);
  }
}

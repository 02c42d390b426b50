// A server beside each worker, by hand: of what goes in and out of a machine with a server, the part of its
// own worker crosses no network; and both share the machine's speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr int steps = 5;
constexpr double bandwidth = 1e8 / 8, latency = 50e-6, compute = 10e-3;

ScenarioBuilder toml(int workers, int servers, std::int64_t parameters) {
  return phantom(parameters)
      .set({"training.batch_size=1", "compute.time=10ms", "cluster.colocate=true",
            "cluster.network.header=0B"})
      .links("100Mbps", "25us")
      .set("training.steps", steps)
      .set("cluster.workers", workers)
      .set("cluster.servers", servers);
}

}  // namespace

TEST_CASE("incast at a server beside a worker: (W - 1) / W of the bytes cross the network",
          "[oracle][colocation]") {
  constexpr int workers = 4;
  constexpr std::int64_t parameters = 250'000;
  const double bytes = 4.0 * parameters;
  // Weights and gradients of all workers but one share the server's link.
  const double crossing = (workers - 1) * bytes / bandwidth + latency;
  for (const char* model : {"fluid", "nic"}) {
    INFO(model);
    const Json run = toml(workers, 1, parameters).set("cluster.network.model", model).run();
    CHECK(run["sim_time_s"].get<double>() ==
          Approx(steps * (2 * crossing + compute)).epsilon(model[0] == 'f' ? 1e-3 : 0.02));
  }
}

TEST_CASE("a server beside each worker: every link carries the same", "[oracle][colocation]") {
  constexpr int workers = 4;
  constexpr std::int64_t parameters = 1'000'000;
  const double part = 4.0 * parameters / workers;
  // Each machine receives W - 1 parts for its server while it sends W - 1 parts for its worker.
  const double crossing = (workers - 1) * part / bandwidth + latency;
  const Json run = toml(workers, workers, parameters).run();
  CHECK(run["sim_time_s"].get<double>() == Approx(steps * (2 * crossing + compute)).epsilon(1e-3));
}

TEST_CASE("a message between two nodes of one machine is there at once", "[oracle][colocation]") {
  const TracedRun run = toml(2, 2, 1000).trace();
  int local = 0;
  std::map<std::int64_t, double> sent;
  for (const RecordedEvent& e : run.events) {
    if (e.is("sent")) sent[e["number"]] = e.at;
    if (!e.is("received", "push") && !e.is("received", "weights")) continue;
    const bool is_local = std::abs(e.node - e.peer) == 2;  // servers are 1 and 2, workers 3 and 4
    const double took = e.at - sent.at(e["message"]);
    if (is_local) ++local;
    if (is_local) CHECK(took == 0);
    else CHECK(took >= latency);
  }
  CHECK(local > 0);
}

TEST_CASE("a crash of a machine takes both of its nodes, and one of a node that node",
          "[colocation][recovery]") {
  const auto crashed = [](const std::string& node) {
    const TracedRun run = toml(3, 3, 3000)
                              .set({"recovery.heartbeat=5ms", "recovery.timeout=20ms", "recovery.retry=20ms",
                                    "replication.copies=1"})
                              .fault("crash", node, {"at=15ms", "restart_after=30ms"})
                              .trace();
    CHECK(run.summary["stuck"].empty());
    std::vector<int> nodes;
    for (const RecordedEvent& e : run.events) {
      if (e.is("fault", "crash") && e["begins"] == 1) nodes.push_back(e.peer);
    }
    std::ranges::sort(nodes);
    return nodes;
  };
  CHECK(crashed("host 1") == std::vector{2, 5});
  CHECK(crashed("server 1") == std::vector{2});
  CHECK(crashed("worker 1") == std::vector{5});
}

TEST_CASE("a machine's link is the slower of what faults make of either node's, whichever began last",
          "[oracle][colocation]") {
  for (const char* model : {"fluid", "nic"}) {
    const ScenarioBuilder two = toml(2, 1, 250'000).set("cluster.network.model", model);
    // Until 900 ms.
    const auto degraded = [](const ScenarioBuilder& scenario, const std::string& node, int at,
                             double factor) {
      return scenario.fault("degrade", node,
                            {fmt::format("at={}ms", at), fmt::format("lasts={}ms", 900 - at),
                             fmt::format("factor={}", factor)});
    };
    const auto seconds = [](const ScenarioBuilder& scenario) {
      return scenario.run()["sim_time_s"].get<double>();
    };
    INFO(model);
    const double alone = seconds(degraded(two, "server 0", 1, 0.25));
    CHECK(alone > 1.5 * seconds(two));
    CHECK(seconds(degraded(degraded(two, "server 0", 1, 0.25), "worker 0", 2, 0.5)) ==
          Approx(alone).epsilon(1e-9));
    CHECK(seconds(degraded(degraded(two, "worker 0", 2, 0.5), "server 0", 1, 0.25)) ==
          Approx(alone).epsilon(1e-9));
  }
}

// Sums on the way, against max-min shares worked out by hand: one server and four workers in two racks. The
// server is in rack 0 with workers 1 and 3; workers 0 and 2 are in rack 1. A link carries a push in 0.1 s;
// the uplink of rack 0 has 3/4 of a link's bandwidth, that of rack 1 half of it.
#include <string>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

Json run(const std::string& at, const std::string& model, const std::string& more = "", int steps = 5) {
  return ScenarioBuilder({"training.batch_size=4", "consistency.model=bsp", "compute.time=50ms",
                          "cluster.workers=4", "cluster.servers=1", "cluster.network.topology=two-tier",
                          "cluster.network.racks=2", "cluster.network.oversubscription=4"})
      .links("1GBps", "0s")
      .with("model", model)
      .set("training.steps", steps)
      .set("cluster.network.aggregate", at)
      .with("cluster.network", more)
      .run();
}

const std::string large = "kind = \"phantom\"\nparameters = 25_000_000";  // 100 MB

}  // namespace

TEST_CASE("a sum for each rack crosses the uplink and the server's link", "[oracle][aggregation]") {
  // Four pushes share the server's link: 0.4 s, and as long back.
  const Json apart = run("servers", large);
  CHECK(apart["sim_time_s"].get<double>() == Approx(5 * (0.05 + 0.4 + 0.4)));
  CHECK(!apart.contains("aggregation"));
  // The switches stream, and two sums share the server's link: 0.2 s. Back likewise.
  const Json in_switch = run("switch", large);
  CHECK(in_switch["sim_time_s"].get<double>() == Approx(5 * (0.05 + 0.2 + 0.2)));
  // A node takes in its two pushes one after the other.
  const Json in_rack = run("rack", large);
  CHECK(in_rack["sim_time_s"].get<double>() == Approx(5 * (0.05 + 0.4 + 0.4)));
  for (const Json& one : {in_switch, in_rack}) {
    const Json& sums = one["aggregation"];
    const double size = 100e6;
    CHECK(sums["push_bytes"].get<double>() == 5 * 4 * size);
    CHECK(sums["sum_bytes"].get<double>() == 5 * 2 * size);
    CHECK(sums["answer_bytes"].get<double>() == 5 * 4 * size);
    CHECK(sums["copied_bytes"].get<double>() == 5 * 2 * size);
    CHECK(one["bytes_sent"] == apart["bytes_sent"]);
  }
}

TEST_CASE("sums on the way change no weight", "[oracle][aggregation][slow]") {
  const std::string learns = "kind = \"mlp\"\nlayers = [64, 10]\nprecision = \"float64\"";
  for (const char* more :
       {"", "model = \"nic\"", "[messages]\nunit = \"array\"", "[cluster.worker]\nstartup = \"1s\""}) {
    INFO(more);
    const Json apart = run("servers", learns, more), in_switch = run("switch", learns, more),
               in_rack = run("rack", learns, more);
    CHECK(in_switch["model"]["weights"] == apart["model"]["weights"]);
    CHECK(in_rack["model"]["weights"] == apart["model"]["weights"]);
  }
}

TEST_CASE("a switch that sums streams, and a node stores", "[oracle][aggregation]") {
  // The server is alone in rack 0, the worker in rack 1. A message of 100 MB crosses four links of 10 ms, of
  // which the two uplinks have 1 / oversubscription of the others' 1 GB/s.
  const auto step = [](const std::string& at, int oversubscription) {
    return phantom(25'000'000)
        .set({"training.batch_size=4", "training.steps=5", "consistency.model=bsp", "compute.time=50ms",
              "cluster.workers=1", "cluster.servers=1", "cluster.network.topology=two-tier",
              "cluster.network.racks=2", "cluster.network.tcp_window=0B"})
        .links("1GBps", "10ms")
        .set("cluster.network.oversubscription", oversubscription)
        .set("cluster.network.aggregate", at)
        .run()["workers"][0]["mean_step_s"]
        .get<double>();
  };
  for (const int oversubscription : {1, 4}) {
    INFO(oversubscription);
    const double uplink = 0.1 * oversubscription;  // seconds, of a message
    CHECK(step("servers", oversubscription) == Approx(0.05 + 2 * (0.04 + uplink)).epsilon(1e-6));
    CHECK(step("switch", oversubscription) == Approx(0.05 + 2 * (0.04 + uplink)).epsilon(1e-6));
    // The node has a link of its own, which a message crosses twice.
    CHECK(step("rack", oversubscription) == Approx(0.05 + 2 * (0.06 + 0.1 + uplink)).epsilon(1e-6));
  }
}

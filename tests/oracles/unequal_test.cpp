// What symmetric set-ups hide: several shards, several outputs, workers of unequal speed in a group, links of
// which another one is the narrowest, jobs of unequal size.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

TEST_CASE("a norm is of the whole model, on however many servers it is", "[tasks]") {
  const auto norm = [](int servers) {
    return run_file("scenarios/tasks.toml",
                    {fmt::format("cluster.servers={}", servers), "training.steps=5",
                     "training.target={accuracy=0.01, stop=false}"})["tasks"][4]["value"]
        .get<double>();
  };
  const double one = norm(1);
  CHECK(one > 0);
  for (const int servers : {2, 3, 5}) CHECK(norm(servers) == Approx(one).epsilon(1e-5));
}

TEST_CASE("a sample of a regression has all its targets", "[work]") {
  const auto bytes = [](int features, int outputs) {
    const Json summary = ScenarioBuilder({"data.source=teacher", "data.samples=200", "data.delivery=database",
                                          "model.loss=half-sse", "training.batch_size=5", "training.steps=10",
                                          "compute.time=10ms", "cluster.workers=3"})
                             .set("data.features", features)
                             .set("data.classes", outputs)
                             .set("model.layers", fmt::format("[{}, {}]", features, outputs))
                             .run();
    return summary["bytes_by_kind"]["samples"].get<double>();
  };
  constexpr double batches = 3 * 10, samples = 5, value = 4;
  for (const auto& [features, outputs] : {std::pair{12, 1}, std::pair{12, 8}, std::pair{2, 31}}) {
    INFO(features << " features, " << outputs << " outputs");
    const double payload = batches * samples * value * (features + outputs);
    const double all = bytes(features, outputs), other = bytes(features, outputs + 1);
    CHECK(other - all == Approx(batches * samples * value));  // whatever a message's head has
    CHECK(all >= payload);
    CHECK(all < payload + batches * 200);
  }
}

TEST_CASE("a group ends with its last worker", "[groups]") {
  const Json summary =
      phantom(1000)
          .set({"training.batch_size=4", "training.steps=20", "consistency.model=asp", "compute.time=10ms",
                "cluster.workers=5", "cluster.servers=1", "cluster.network.latency=0s",
                "cluster.network.bandwidth=1000Tbps", "cluster.network.share_spread=0.0"})
          .straggler(1, 4)
          .straggler(3, 2.5)
          .add("group", {"name=first", "workers=2"})
          .add("group", {"name=second", "workers=3", "set=[\"training.steps = 30\"]"})
          .run();
  CHECK(summary["groups"][0]["finished_s"].get<double>() == Approx(20 * 0.04).epsilon(1e-3));
  CHECK(summary["groups"][1]["finished_s"].get<double>() == Approx(30 * 0.025).epsilon(1e-3));
  CHECK(summary["groups"][0]["samples_per_s"].get<double>() == Approx(2 * 4 * 20 / 0.8).epsilon(1e-3));
  CHECK(summary["groups"][1]["samples_per_s"].get<double>() == Approx(3 * 4 * 30 / 0.75).epsilon(1e-3));
}

TEST_CASE("a row of a schedule must come after the row before it", "[schedule]") {
  const auto code = [](const std::string& rows) {
    TemporaryFolder folder;
    return psim::test::psim({"check", (source_folder() / "scenarios/quickstart.toml").string(), "--set",
                             "consistency={model=\"ssp\", staleness_schedule=" + rows + "}"},
                            folder.path())
        .code;
  };
  CHECK(code("[[0, 0], [10, 1], [11, 2]]") == 0);
  CHECK(code("[[0, 0], [10, 1], [10, 2]]") != 0);
  CHECK(code("[[0, 0], [10, 1], [9, 2]]") != 0);
  CHECK(code("[[0, 0], [0, 1]]") != 0);
  CHECK(code("[[0, 1]]") == 0);
}

TEST_CASE("with a worker alone in its rack a switch that sums changes no time, whichever link is narrow",
          "[aggregation]") {
  // With several servers the worker's own link is the narrowest one, else the uplink is.
  const auto step = [](const std::string& at, int servers, int oversubscription) {
    return phantom(25'000'000)
        .set({"training.batch_size=4", "training.steps=3", "consistency.model=bsp", "compute.time=50ms",
              "cluster.workers=1", "cluster.network.topology=two-tier", "cluster.network.tcp_window=0B"})
        .links("1GBps", "10ms")
        .set("cluster.servers", servers)
        .set("cluster.network.racks", servers + 1)
        .set("cluster.network.oversubscription", oversubscription)
        .set("cluster.network.aggregate", at)
        .run()["workers"][0]["mean_step_s"]
        .get<double>();
  };
  for (const int servers : {1, 2, 3}) {
    for (const int oversubscription : {1, 4}) {
      INFO(servers << " servers, " << oversubscription);
      CHECK(step("switch", servers, oversubscription) ==
            Approx(step("servers", servers, oversubscription)).epsilon(1e-6));
    }
  }
}

TEST_CASE("answers are one on the way only where they leave at one date", "[aggregation]") {
  const auto copied = [](const std::string& endpoint) {
    return phantom(25'000'000)
        .set({"training.batch_size=4", "training.steps=3", "consistency.model=bsp", "compute.time=50ms",
              "cluster.workers=4", "cluster.servers=1", "cluster.network.topology=two-tier",
              "cluster.network.racks=2", "cluster.network.latency=0s", "cluster.network.bandwidth=1GBps",
              "cluster.network.share_spread=0.0", "cluster.network.aggregate=switch"})
        .with("cluster.network", endpoint)
        .run()["aggregation"]["copied"]
        .get<int>();
  };
  CHECK(copied("") == 3 * 2);                                      // one for each rack
  CHECK(copied("endpoint = {send_overhead = \"1ms\"}") == 3 * 4);  // one after the other
}

TEST_CASE("a degraded link has its share of the bandwidth, and all of its latency", "[degrade][slow]") {
  const auto run = [](const char* carrier, const char* model, const char* node, const char* from) {
    return phantom(2'500'000)
        .set({"training.batch_size=1", "training.steps=4", "consistency.model=bsp", "compute.time=10ms",
              "cluster.workers=1", "cluster.servers=1", "cluster.network.bandwidth=1Gbps",
              "cluster.network.latency=50us", "cluster.network.header=0B", "cluster.network.share_spread=0.0",
              "cluster.network.tcp_window=0B"})
        .set("cluster.network.model", carrier)
        .set("cluster.network.simgrid_model", model)
        .fault("degrade", node, {fmt::format("from={}", from), "until=1000s", "factor=0.25"})
        .run();
  };
  struct Case {
    const char *model, *node;
    double latency, bandwidth;  // what SimGrid's model of a flow makes of them
  };
  for (const Case& c : {Case{"cm02", "worker 0", 1, 1}, Case{"lv08", "worker 0", 13.01, 0.97},
                        Case{"lv08", "server 0", 13.01, 0.97}}) {
    const double way = c.latency * 2 * 50e-6, message = way + 10e6 / (c.bandwidth * 0.25 * 125e6);
    for (const char* carrier : {"fluid", "nic"}) {
      INFO(c.model << ", " << carrier << ", " << c.node);
      const Json always = run(carrier, c.model, c.node, "0s");
      CHECK(always["workers"][0]["mean_step_s"].get<double>() == Approx(0.01 + 2 * message).epsilon(1e-6));
      // The fault begins while the first weights are under way and have carried nothing yet.
      const std::string first = fmt::format("{:.0f}us", 1.5e6 * way);
      CHECK(run(carrier, c.model, c.node, first.c_str())["sim_time_s"].get<double>() ==
            Approx(always["sim_time_s"].get<double>()).epsilon(1e-6));
    }
  }
}

TEST_CASE("a job among others is looked at after its own samples, and has its own bytes", "[groups]") {
  const Json groups =
      ScenarioBuilder({"model.layers=[64, 16, 10]", "training.batch_size=16",
                       "training.evaluate_every=160 samples", "training.steps=30", "consistency.model=bsp",
                       "compute.time=10ms", "cluster.workers=5", "cluster.servers=2"})
          .add("group", {"name=first", "workers=2"})
          .add("group",
               {"name=second", "workers=3", "set=[\"training.steps = 40\", \"model.layers = [64, 24, 10]\"]"})
          .run()["groups"];
  const std::pair<int, int> jobs[] = {{2, 30}, {3, 40}};  // workers and steps
  for (std::size_t n = 0; n < 2; ++n) {
    const auto& [workers, steps] = jobs[n];
    const Json& curve = groups[n]["curve"];
    INFO(groups[n]["name"]);
    std::vector<int> expected{0};
    for (int update = 1; update <= steps; ++update) {
      const int samples = update * workers * 16, before = samples - workers * 16;
      if (samples / 160 > before / 160 || update == steps) expected.push_back(update);
    }
    std::vector<int> updates;
    for (const Json& point : curve) updates.push_back(point["updates"]);
    CHECK(updates == expected);
    CHECK(curve.back()["bytes_sent"] == groups[n]["bytes_sent"]);
  }
}

TEST_CASE("a ring has as many snapshots whoever is the first of it", "[snapshots]") {
  const auto snapshots = [](const std::string& fault) {
    return ScenarioBuilder({"architecture.kind=all-reduce", "model.layers=[64, 10]", "training.batch_size=8",
                            "training.steps=60", "compute.time=5ms", "cluster.workers=3",
                            "recovery.heartbeat=5ms", "recovery.timeout=20ms", "snapshot.every=5 updates"})
        .with(fault)
        .run()["failures"]["snapshots"]
        .get<int>();
  };
  CHECK(snapshots("") == 12);
  for (const char* who : {"worker 0", "worker 1"}) {
    INFO(who);
    const std::string nodes = fmt::format("nodes = [\"{}\"]\nat = \"117ms\"\n", who);
    CHECK(snapshots("[[fault]]\nkind = \"leave\"\n" + nodes) == 12);
    CHECK(snapshots("[[fault]]\nkind = \"crash\"\nrestart_after = \"50ms\"\n" + nodes) == 12);
  }
}

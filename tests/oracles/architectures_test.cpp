// Times and bytes of all-reduce and of a pipeline on a raw network: a path between two workers has two links,
// so alpha is twice a link's latency, and links carry 125 MB/s each way.
#include <fmt/format.h>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Cluster {
  std::string architecture;  // fields of [architecture]
  int workers = 4;
  std::string time = "0s";
  std::string network = "bandwidth = \"1Gbps\"\nlatency = \"50us\"";
  std::string model = "parameters = 840_000";  // fields of [model]
  int batch = 2;
  std::string more = "";
};

constexpr int steps = 5;

Json run(const Cluster& c) {
  return ScenarioBuilder({"model.kind=phantom", "cluster.network.simgrid_model=cm02",
                          "cluster.network.tcp_window=0B", "cluster.network.share_spread=0.0"})
      .with("architecture", c.architecture)
      .with("model", c.model)
      .set("training.batch_size", c.batch)
      .set("training.steps", steps)
      .set("compute.time", c.time)
      .set("cluster.workers", c.workers)
      .with("cluster.network", c.network)
      .with(c.more)
      .run();
}

double step_time(const Json& summary) { return summary["workers"][0]["mean_step_s"].get<double>(); }

std::string all_reduce(const std::string& algorithm) {
  return fmt::format("kind = \"all-reduce\"\nalgorithm = \"{}\"", algorithm);
}

std::string pipeline(int micro_batches, const std::string& schedule) {
  return fmt::format("kind = \"model-parallel\"\nmicro_batches = {}\nschedule = \"{}\"", micro_batches,
                     schedule);
}

Approx near(double t) { return Approx(t).epsilon(0).margin(1e-8 + 1e-9 * t); }

constexpr double alpha = 100e-6, bandwidth = 125e6, model = 4 * 840'000;

const std::string no_network = "bandwidth = \"1000Tbps\"\nlatency = \"0s\"";

}  // namespace

TEST_CASE("a ring takes 2 (N - 1) (alpha + M / (N B))", "[oracle]") {  // Patarasuk, Yuan 2009
  for (const int n : {1, 2, 3, 4, 7, 8, 16}) {
    INFO("N = " << n);
    const Json summary = run({.architecture = all_reduce("ring"), .workers = n});
    CHECK(step_time(summary) == near(2 * (n - 1) * (alpha + model / (n * bandwidth))));
    CHECK(summary["bytes_sent"].get<double>() == steps * 2.0 * (n - 1) * model);
    CHECK(summary["updates"] == steps);
  }
}

TEST_CASE("a tree takes 2 log2 N (alpha + M / B)", "[oracle]") {
  for (const auto& [n, log2] : std::vector<std::pair<int, int>>{{1, 0}, {2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
    INFO("N = " << n);
    const Json summary = run({.architecture = all_reduce("tree"), .workers = n});
    CHECK(step_time(summary) == near(2 * log2 * (alpha + model / bandwidth)));
    CHECK(summary["bytes_sent"].get<double>() == steps * 2.0 * (n - 1) * model);
  }
}

TEST_CASE("halving-doubling takes 2 log2 N alpha + 2 (N - 1) / N M / B", "[oracle]") {  // Thakur et al. 2005
  for (const auto& [n, log2] : std::vector<std::pair<int, int>>{{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
    INFO("N = " << n);
    const Json summary = run({.architecture = all_reduce("halving-doubling"), .workers = n});
    CHECK(step_time(summary) == near(2 * log2 * alpha + 2.0 * (n - 1) / n * model / bandwidth));
    CHECK(summary["bytes_sent"].get<double>() == steps * 2.0 * (n - 1) * model);
  }
}

TEST_CASE("a ring over neighbours crosses each uplink once a round", "[oracle][ranks]") {
  // Three workers in rack 0, two in rack 1, whose uplink is as fast as a link. By index two messages cross it
  // in each round, and by the topology one.
  const std::string racks =
      "bandwidth = \"1Gbps\"\nlatency = \"0s\"\ntopology = \"two-tier\"\nracks = 2\noversubscription = 2.0";
  const auto time = [&](const std::string& ranks) {
    return step_time(run({.architecture = all_reduce("ring") + ranks, .workers = 5, .network = racks}));
  };
  CHECK(time("") == near(8 * model / (5 * bandwidth)));
  CHECK(time("\nranks = \"index\"") == near(8 * 2 * model / (5 * bandwidth)));
}

TEST_CASE("a ring of a dragonfly shares no link", "[oracle][ranks]") {
  // Between two workers there are two to five links.
  const std::string dragonfly = "bandwidth = \"1Gbps\"\nlatency = \"50us\"\ntopology = \"dragonfly\"";
  const auto time = [&](const std::string& ranks) {
    return step_time(run({.architecture = all_reduce("ring") + ranks, .workers = 15, .network = dragonfly}));
  };
  const double bytes_of_a_round = model / (15 * bandwidth);
  CHECK(time("") >= 28 * (alpha + bytes_of_a_round));
  CHECK(time("") <= 28 * (2.5 * alpha + bytes_of_a_round) * 1.000001);
  CHECK(time("\nranks = \"index\"") >= 28 * 1.5 * bytes_of_a_round);
}

TEST_CASE("an all-reduce step waits for the slowest worker", "[oracle]") {
  const Json summary = run({.architecture = all_reduce("ring"),
                            .time = "10ms",
                            .more = "[[straggler]]\nworkers = [2]\nslowdown = 3.0\n"});
  const double reduction = 6 * (alpha + model / (4 * bandwidth));
  CHECK(step_time(summary) == near(0.030 + reduction));
  CHECK(summary["workers"][2]["compute_share"].get<double>() > 0.030 / (0.0301 + reduction));
}

TEST_CASE("a pipeline of W equal stages takes (M + W - 1) (forward + backward)", "[oracle][slow]") {
  // Huang et al. 2019: a share (W - 1) / (M + W - 1) of the time is bubble. Each stage has 120 ms of work in
  // a step, a W-th of what W workers do in 120 ms each.
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    for (const auto& [w, m] :
         std::vector<std::pair<int, int>>{{1, 1}, {1, 4}, {3, 1}, {4, 4}, {4, 12}, {6, 3}}) {
      INFO(schedule << ", W = " << w << ", M = " << m);
      const Json summary = run({.architecture = pipeline(m, schedule),
                                .workers = w,
                                .time = "120ms",
                                .network = no_network,
                                .model = "activations = 0",
                                .batch = 12});
      CHECK(step_time(summary) == near((m + w - 1) * 0.120 / m));
      CHECK(summary["sim_time_s"].get<double>() == near(steps * (m + w - 1) * 0.120 / m));
      const double compute = summary["workers"][0]["compute_share"];
      CHECK(compute == Approx(double(m) / (m + w - 1)).epsilon(1e-7));
    }
  }
}

TEST_CASE("a pipeline with one micro-batch: every stage in turn, and every border twice", "[oracle]") {
  // 8 samples x 25,000 values x 4 bytes pass each of the three borders, forward and backward.
  const Json summary =
      run({.architecture = pipeline(1, "gpipe"), .time = "10ms", .model = "activations = 25_000"});
  const double bytes = 8 * 25'000 * 4;
  CHECK(step_time(summary) == near(4 * 0.010 + 6 * (alpha + bytes / bandwidth)));
  CHECK(summary["bytes_sent"].get<double>() == steps * 6 * bytes);
}

TEST_CASE("a pipeline's messages are its layers' widths", "[oracle]") {
  const Json summary = ScenarioBuilder({"architecture.kind=model-parallel", "architecture.micro_batches=5",
                                        "model.layers=[64, 24, 17, 10]", "training.batch_size=4",
                                        "training.steps=3", "cluster.workers=3"})
                           .run();
  CHECK(summary["bytes_sent"] == 3 * 2 * 12 * (24 + 17) * 4);
  CHECK(summary["messages"] == 3 * 2 * 2 * 5 + 3 * 3);  // and to join, to start and to leave
}

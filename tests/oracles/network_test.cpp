// Times on the network: SimGrid's constants and the bounds of a parameter-server step, derived by hand. A
// path between a worker and a server has two links; a message is its values, so pulls are empty and cost
// latency alone. cm02 takes latency + bytes / bandwidth; lv08 multiplies the latency by 13.01, the bandwidth
// by 0.97.
#include <algorithm>
#include <map>
#include <vector>

#include "tests/oracles/ideal.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Step {
  int workers = 1, servers = 1;
  double megabytes = 1;       // of the model
  std::string network, more;  // fields of [cluster.network]; tables below [cluster]
  std::string consistency = R"(model = "bsp")";
  std::string compute = R"(time = "10ms")";
  std::string model = "cm02";  // of SimGrid
};

// Links of 1 Gb/s (125 MB/s) and 50 us.
ScenarioBuilder toml(const Step& s) {
  return phantom(std::llround(s.megabytes * 250'000))
      .set({"model.flops_per_sample=1e7", "training.batch_size=1", "training.steps=20",
            "cluster.network.bandwidth=1Gbps", "cluster.network.share_spread=0.0"})
      .with("consistency", s.consistency)
      .with("compute", s.compute)
      .set("cluster.workers", s.workers)
      .set("cluster.servers", s.servers)
      .set("cluster.network.simgrid_model", s.model)
      .with("cluster.network", s.network)
      .with(s.more);
}

constexpr double bandwidth = 125e6, compute = 0.01;

double step_time(const Step& s, int worker = 0) {
  return toml(s).run()["workers"][worker]["mean_step_s"].get<double>();
}

struct Model {
  std::string name;
  double latency = 1, bandwidth = 1;  // factors
  double path(double link_latency) const { return latency * 2 * link_latency; }
};
const std::vector<Model> models{{"cm02", 1, 1}, {"lv08", 13.01, 0.97}};

Approx near(double t) { return Approx(t).epsilon(0).margin(1e-8 + 1e-9 * t); }

// Dates at which messages of a kind arrived at a node from another, in order.
std::vector<double> arrivals(const TracedRun& run, const std::string& message, int node, int peer) {
  std::vector<double> dates;
  for (const RecordedEvent& e : run.events) {
    if (e.is("received", message) && e.node == node && e.peer == peer) dates.push_back(e.at);
  }
  return dates;
}

}  // namespace

TEST_CASE("one worker, one server: a step is X + 2 (latency + M / B)", "[oracle][slow]") {
  for (const Model& model : models) {
    for (const auto& [text, latency] :
         std::map<std::string, double>{{"0s", 0.0}, {"50us", 50e-6}, {"3ms", 3e-3}}) {
      INFO(model.name << ", " << text);
      const std::string network = fmt::format("latency = \"{}\"\ntcp_window = \"0B\"", text);
      const double expected = compute + 2 * (model.path(latency) + 1e6 / (model.bandwidth * bandwidth));
      CHECK(step_time({.network = network, .model = model.name}) == near(expected));
      CHECK(step_time({.network = network + "\ncross_traffic = true", .model = model.name}) ==
            near(expected));  // nothing comes the other way
    }
  }
}

TEST_CASE("a TCP window caps a flow at window / round trip", "[oracle]") {
  // 2 x 2 x 1 ms and 100 kB: 25 MB/s. lv08's own 4 MiB cap 1 Gb/s from a latency of 16.8 ms on a path.
  const double cm02 = compute + 2 * (0.002 + 1e6 / 25e6);
  CHECK(step_time({.network = "latency = \"1ms\"\ntcp_window = \"100kB\""}) == near(cm02));
  CHECK(step_time({.network = "latency = \"1ms\"\ntcp_window = \"1GB\""}) ==
        near(compute + 2 * (0.002 + 1e6 / bandwidth)));
  const double lv08 = compute + 2 * (13.01 * 0.1 + 1e6 / (0.97 * 4194304 / 0.2));
  CHECK(step_time({.network = "latency = \"50ms\"", .model = "lv08"}) == near(lv08));
}

TEST_CASE("cross-traffic: both directions of a link at once are 1.05 times slower", "[oracle]") {
  // M / B = 1 s, no latency. Both get their first weights at 2; worker 0 pushes at once and is through at 3;
  // just then worker 1 pushes and worker 0 is answered.
  for (const Model& model : models) {
    INFO(model.name);
    const double unit = 1 / model.bandwidth;
    const Step step{.workers = 2,
                    .megabytes = 125,
                    .network = "latency = \"0s\"\ncross_traffic = true",
                    .more = fmt::format("[cluster.worker]\nspeed = [\"1e30f\", \"{}f\"]\n", 1e7 / unit),
                    .consistency = R"(model = "asp")",
                    .compute = "",
                    .model = model.name};
    const TracedRun run = toml(step).trace();
    CHECK(arrivals(run, "push", 1, 2)[0] == near(3 * unit));
    CHECK(arrivals(run, "push", 1, 3)[0] == near(4.05 * unit));
    CHECK(arrivals(run, "weights", 2, 1)[1] == near(4.05 * unit));
  }
}

TEST_CASE("incast: a bsp step is X + 2 (latency + max(W M / (S B), M / B))", "[oracle][slow]") {
  for (const Model& model : models) {
    for (const auto& [w, s] :
         std::vector<std::pair<int, int>>{{8, 1}, {8, 2}, {8, 8}, {16, 4}, {3, 1}, {2, 4}, {1, 5}, {5, 10}}) {
      INFO(model.name << ", W = " << w << ", S = " << s);
      const double flow = std::max(w * 1e6 / s, 1e6) / (model.bandwidth * bandwidth);
      const double measured = step_time({.workers = w, .servers = s, .model = model.name});
      CHECK(measured == near(compute + 2 * (model.path(50e-6) + flow)));
    }
  }
}

TEST_CASE("incast: eight workers, one server, 1 MB: 64.1 ms each way, 67.281 ms with lv08", "[oracle]") {
  CHECK((step_time({.workers = 8}) - compute) / 2 == near(0.0641));
  CHECK((step_time({.workers = 8, .model = "lv08"}) - compute) / 2 ==
        Approx(0.067281).epsilon(0).margin(1e-6));
}

TEST_CASE("flows that begin at different times share what is left", "[oracle]") {
  // Both get their weights at 2 x 8 ms; pushes begin d apart, last 2 M / B in all, and the first is done d
  // earlier.
  const Step step{.workers = 2,
                  .network = "latency = \"0s\"",
                  .more = "[cluster.worker]\nspeed = [\"10Gf\", \"2Gf\"]\n",
                  .compute = ""};
  const TracedRun run = toml(step).trace();
  const double unit = 1e6 / bandwidth, fast = 0.001, slow = 0.005, begin = 2 * unit + fast;
  const std::vector<double> first = arrivals(run, "push", 1, 2), second = arrivals(run, "push", 1, 3);
  const double round = 4 * unit + fast;  // answers to both, computing, two pushes without a gap
  for (std::size_t i = 0; i < 20; ++i) {
    INFO("step " << i);
    CHECK(first.at(i) == near(double(i) * round + begin + 2 * unit - (slow - fast)));
    CHECK(second.at(i) == near(double(i) * round + begin + 2 * unit));
  }
}

TEST_CASE("two tiers: an oversubscribed uplink is the bottleneck of its rack", "[oracle]") {
  // Rack 0: the server, workers 1 and 3; rack 1: workers 0 and 2, whose uplink has 2 B / 8. Four links
  // between racks.
  const std::string network = "topology = \"two-tier\"\nracks = 2\noversubscription = 8.0\nshare_cv = 0.0";
  CHECK(step_time({.workers = 4, .network = network}) ==
        near(compute + 2 * (4 * 50e-6 + 1e6 / (bandwidth / 8))));
  // Without oversubscription the server's own link is: all four share it, and all end together without
  // latency.
  const std::string wide = "topology = \"two-tier\"\nracks = 2\noversubscription = 1.0\nlatency = \"0s\"";
  CHECK(step_time({.workers = 4, .network = wide}) == near(compute + 2 * 4e6 / bandwidth));
  // One worker in the other rack, whose uplink is that of one node.
  const double lv08 = 13.01 * 4 * 50e-6 + 1e6 / (0.97 * bandwidth / 8);
  CHECK(step_time({.network = network, .model = "lv08"}) == near(compute + 2 * lv08));
}

TEST_CASE("a server's work on each value adds to the step, push by push", "[oracle]") {
  // 250,000 values in S ranges, 40 operations each, 5 Gf: 2 ms for a whole model.
  const std::string server = "[cluster.server]\nspeed = \"5Gf\"\nflops_per_value = 40.0\n";
  for (const auto& [w, s] : std::vector<std::pair<int, int>>{{1, 1}, {4, 1}, {6, 2}}) {
    INFO("W = " << w << ", S = " << s);
    const double expected = compute + 2 * (100e-6 + w * 1e6 / s / bandwidth) + w * 0.002 / s;
    CHECK(step_time({.workers = w, .servers = s, .more = server}) == near(expected));
  }
}

TEST_CASE("a header is added to every message, pulls included", "[oracle]") {
  // Push and pull share the way up: M + 2 H in all; the answer is M + H.
  const double header = 1e5;
  CHECK(step_time({.network = "header = \"100kB\""}) ==
        near(compute + 2 * 100e-6 + (1e6 + 2 * header + 1e6 + header) / bandwidth));
  const Json run = toml({.workers = 3, .servers = 2, .network = "header = \"64B\""}).run();
  const double values = 20 * 3 * 2 * 1e6;
  CHECK(run["bytes_sent"].get<double>() == values + 64 * run["messages"].get<double>());
}

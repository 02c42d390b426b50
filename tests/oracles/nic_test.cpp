// The network of queues (cluster.network.model = "nic") against theory's formulas and against SimGrid's flows
// (docs/network.md). Times that one message decides are exact; what many share is bounded by the segments.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

struct Step {
  int workers = 1, servers = 1;
  double megabytes = 1;  // of the model
  std::string network;   // fields of [cluster.network]
  std::string more;      // tables below [cluster]
  std::string consistency = "bsp";
  std::string model = "cm02";  // of SimGrid
  double spread = 0, cv = 0;
  int steps = 20;
  std::string carrier = "nic";
};

// Links of 1 Gb/s (125 MB/s) and 50 us.
ScenarioBuilder toml(const Step& s) {
  return phantom(std::llround(s.megabytes * 250'000))
      .set({"model.flops_per_sample=1e7", "training.batch_size=1", "compute.time=10ms",
            "cluster.network.bandwidth=1Gbps"})
      .set("training.steps", s.steps)
      .set("consistency.model", s.consistency)
      .with("compute", s.cv > 0 ? fmt::format("distribution = \"uniform\"\ncv = {}", s.cv) : "")
      .set("cluster.workers", s.workers)
      .set("cluster.servers", s.servers)
      .set("cluster.network.model", s.carrier)
      .set("cluster.network.share_spread", s.spread)
      .set("cluster.network.simgrid_model", s.model)
      .with("cluster.network", s.network)
      .with(s.more);
}

constexpr double bandwidth = 125e6, compute = 0.01;

Json run(const Step& s) { return toml(s).run(); }
double step_time(const Step& s) { return run(s)["workers"][0]["mean_step_s"].get<double>(); }
double mean_step(const Step& s) {
  const Json result = run(s);
  double sum = 0;
  for (const Json& worker : result["workers"]) sum += worker["mean_step_s"].get<double>();
  return sum / s.workers;
}

struct Model {
  std::string name;
  double latency = 1, bandwidth = 1;  // factors
};
const std::vector<Model> models{{"cm02", 1, 1}, {"lv08", 13.01, 0.97}};

Approx near(double t) { return Approx(t).epsilon(0).margin(1e-8 + 1e-9 * t); }

}  // namespace

TEST_CASE("nic: one worker, one server: a step is X + 2 (latency + M / B)", "[oracle][nic][slow]") {
  for (const Model& model : models) {
    for (const double latency : {0.0, 50e-6, 3e-3}) {
      INFO(model.name << ", " << latency);
      const std::string network = fmt::format("latency = \"{}s\"\ntcp_window = \"0B\"", latency);
      const double expected =
          compute + 2 * (model.latency * 2 * latency + 1e6 / (model.bandwidth * bandwidth));
      CHECK(step_time({.network = network, .model = model.name}) == near(expected));
      CHECK(step_time({.network = network + "\ncross_traffic = true", .model = model.name}) ==
            near(expected));
    }
  }
}

TEST_CASE("nic: a TCP window caps a message at window / round trip", "[oracle][nic]") {
  CHECK(step_time({.network = "latency = \"1ms\"\ntcp_window = \"100kB\""}) ==
        near(compute + 2 * (0.002 + 1e6 / 25e6)));
  CHECK(step_time({.network = "latency = \"50ms\"", .model = "lv08"}) ==
        near(compute + 2 * (13.01 * 0.1 + 1e6 / (0.97 * 4194304 / 0.2))));
}

TEST_CASE("nic: on every topology a lone step takes as long as that of SimGrid's flows",
          "[oracle][nic][slow]") {
  for (const char* topology :
       {"topology = \"star\"", "topology = \"two-tier\"\nracks = 2\noversubscription = 0.4",
        "topology = \"two-tier\"\nracks = 2\noversubscription = 8.0", "topology = \"fat-tree\"\nports = 4",
        "topology = \"torus\"\ndimensions = [3, 3]", "topology = \"dragonfly\"\nrouters = 2",
        "topology = \"graph\"\nlink = [{between = [\"scheduler\", \"a\"]}, "
        "{between = [\"server 0\", \"a\"], bandwidth = \"300MBps\"}, {between = [\"a\", \"b\"]}, "
        "{between = [\"b\", \"c\"], bandwidth = \"500MBps\"}, "
        "{between = [\"c\", \"worker 0\"], bandwidth = \"200MBps\", latency = \"1ms\"}]"}) {
    for (const double spread : {0.0, 0.5}) {
      INFO(topology << ", share_spread " << spread);
      const Step nic{.network = topology, .spread = spread};
      Step fluid = nic;
      fluid.carrier = "fluid";
      CHECK(step_time(nic) == near(step_time(fluid)));
    }
  }
}

TEST_CASE("nic: an incast at one server is work-conserving: a bsp step is X + 2 (latency + W M / B)",
          "[oracle][nic]") {
  for (const Model& model : models) {
    for (const int w : {2, 3, 8, 50}) {
      INFO(model.name << ", W = " << w);
      // The pushes end together, but answers do not: the mean step is a little shorter than the longest.
      const Json result = run({.workers = w, .model = model.name});
      double longest = 0;
      for (const Json& worker : result["workers"])
        longest = std::max(longest, worker["mean_step_s"].get<double>());
      const double flow = w * 1e6 / (model.bandwidth * bandwidth);
      const double expected = compute + 2 * (model.latency * 100e-6 + flow);
      CHECK(longest <= expected * (1 + 1e-6));
      CHECK(longest == Approx(expected).epsilon(0.02));
    }
  }
}

TEST_CASE("nic: a server's bytes bound a bsp step from below, segments from above", "[oracle][nic][slow]") {
  for (const auto& [w, s] : std::vector<std::pair<int, int>>{{8, 2}, {16, 4}, {8, 8}, {5, 10}, {2, 4}}) {
    INFO("W = " << w << ", S = " << s);
    const double expected = compute + 2 * (100e-6 + std::max(w * 1e6 / s, 1e6) / bandwidth);
    const double measured = mean_step({.workers = w, .servers = s});
    CHECK(measured >= expected * 0.97);
    CHECK(measured <= expected * 1.10);
    CHECK(mean_step({.workers = w, .servers = s, .network = "segments = 64"}) ==
          Approx(expected).epsilon(0.04));
  }
}

TEST_CASE("nic: near SimGrid's flows under bsp, and under asp where connections differ",
          "[oracle][nic][slow]") {
  for (const auto& [w, s] : std::vector<std::pair<int, int>>{{16, 4}, {40, 2}}) {
    for (const std::string consistency : {"bsp", "asp"}) {
      INFO(consistency << ", W = " << w << ", S = " << s);
      // Asynchronous workers need some steps to leave lock-step, in one model sooner than in the other.
      const Step nic{.workers = w,
                     .servers = s,
                     .consistency = consistency,
                     .spread = 0.5,
                     .cv = 0.2,
                     .steps = consistency == "asp" ? 200 : 20};
      Step fluid = nic;
      fluid.carrier = "fluid";
      CHECK(mean_step(nic) == Approx(mean_step(fluid)).epsilon(consistency == "bsp" ? 0.015 : 0.06));
    }
  }
}

TEST_CASE("nic: a link that is degraded for a time costs what it costs SimGrid's flows",
          "[oracle][nic][slow]") {
  const auto degraded = [](const std::string& node, int from, int lasts, double factor) {
    return fmt::format(
        "[[fault]]\nkind = \"degrade\"\nnodes = [\"{}\"]\nat = \"{}ms\"\nlasts = \"{}ms\"\nfactor = {}", node,
        from, lasts, factor);
  };
  const auto end = [](Step s, const std::string& carrier) {
    s.carrier = carrier;
    if (carrier == "nic" && s.workers > 1) s.network = "segments = 32";
    return run(s)["sim_time_s"].get<double>();
  };
  // Alone 20 megabytes take 0.16 s each way, and a segment is at most a quarter of them.
  for (const std::string node : {"server 0", "worker 0"}) {
    for (const auto& [from, lasts] : std::vector<std::pair<int, int>>{{0, 300}, {60, 150}, {230, 80}}) {
      for (const double factor : {0.001, 0.3}) {
        INFO(node << " from " << from << " for " << lasts << " ms: " << factor);
        const Step s{.megabytes = 20, .more = degraded(node, from, lasts, factor), .spread = 0.5, .steps = 3};
        CHECK(end(s, "nic") == Approx(end(s, "fluid")).epsilon(0).margin(0.04));
        Step many = s;
        many.workers = 4;
        many.servers = 2;
        CHECK(end(many, "nic") == Approx(end(many, "fluid")).epsilon(0.02));
      }
    }
  }
}

TEST_CASE("nic: a degraded link that is cut too, or whose node crashes, ends with the fault",
          "[oracle][nic]") {
  for (const char* other :
       {"kind = \"link-down\"\nnodes = [\"server 0\"]\nat = \"0.2s\"\nlasts = \"0.3s\"",
        "kind = \"partition\"\nbetween = [[\"server 0\"], [\"worker 1\"]]\nat = \"0.2s\"\nlasts = \"0.3s\"",
        "kind = \"crash\"\nnodes = [\"worker 1\"]\nat = \"0.2s\"\nrestart_after = \"0.1s\""}) {
    INFO(other);
    Step s{.workers = 2,
           .servers = 2,
           .megabytes = 20,
           .more = fmt::format("[[fault]]\nkind = \"degrade\"\nnodes = [\"server 0\", \"worker 1\"]\n"
                               "at = \"0.1s\"\nlasts = \"0.3s\"\nfactor = 0.001\n[[fault]]\n{}",
                               other),
           .steps = 5};
    const Json nic = run(s);
    s.carrier = "fluid";
    const Json fluid = run(s);
    CHECK(nic["stuck"].empty());
    CHECK(nic["bytes_sent"].get<double>() ==
          nic["bytes_received"].get<double>() + nic["bytes_lost"].get<double>());
    CHECK(nic["sim_time_s"].get<double>() == Approx(fluid["sim_time_s"].get<double>()).epsilon(0.05));
  }
}

TEST_CASE("a network without latency shares ideally, whatever the spread", "[oracle][nic]") {
  for (const std::string carrier : {"fluid", "nic"}) {
    Step s{.workers = 6,
           .servers = 2,
           .network = "latency = \"0s\"",
           .consistency = "asp",
           .cv = 0.2,
           .carrier = carrier};
    const double ideal = mean_step(s);
    s.spread = 0.5;
    CHECK(mean_step(s) == Approx(ideal).epsilon(1e-9));
  }
}

TEST_CASE("a message costs its sender and its receiver their overheads and their time per byte", "[oracle]") {
  // The push and the answer pay all four; the pull is out of the way meanwhile.
  const std::string costs =
      "endpoint = {send_overhead = \"170us\", send_bandwidth = \"2GBps\", receive_overhead = \"300us\", "
      "receive_bandwidth = \"500MBps\"}";
  const double both_ends = 170e-6 + 1e6 / 2e9 + 300e-6 + 1e6 / 500e6;
  for (const std::string carrier : {"fluid", "nic"}) {
    INFO(carrier);
    CHECK(step_time({.network = costs, .carrier = carrier}) ==
          near(compute + 2 * (100e-6 + 1e6 / bandwidth + both_ends)));
  }
}

TEST_CASE("of two messages at once the second waits for the first, at both ends", "[oracle]") {
  // To each of two servers goes half a megabyte, which takes 5 ms to prepare, 4 ms on the wire and 10 ms to
  // take in. The second push leaves when it is prepared, 5 ms after the first, so no link is ever shared;
  // both servers work at the same time; and the second answer, which comes 5 ms after the first, is taken in
  // 10 ms after it. A pull has no bytes.
  const double prepare = 0.005, wire = 100e-6 + 0.004, take = 0.010;
  for (const std::string carrier : {"fluid", "nic"}) {
    INFO(carrier);
    CHECK(step_time({.servers = 2,
                     .network = "endpoint = {send_bandwidth = \"100MBps\", receive_bandwidth = \"50MBps\"}",
                     .carrier = carrier}) ==
          near(compute + prepare + wire + take + prepare + wire + 2 * take));
  }
}

TEST_CASE("a process handles one message at a time", "[oracle]") {
  // A hundred bytes a push: whatever comes to the server waits for its turn of 2 ms.
  for (const std::string carrier : {"fluid", "nic"}) {
    INFO(carrier);
    const TracedRun run = toml({.workers = 4,
                                .megabytes = 0.0001,
                                .network = "endpoint = {receive_overhead = \"2ms\"}",
                                .carrier = carrier})
                              .trace();
    std::vector<double> dates;
    for (const RecordedEvent& e : run.events) {
      if (e.node == 1 && (e.is("received", "push") || e.is("received", "pull"))) dates.push_back(e.at);
    }
    REQUIRE(dates.size() == 4 * (20 + 21));
    int busy = 0;
    for (std::size_t i = 1; i < dates.size(); ++i) {
      CHECK(dates[i] - dates[i - 1] > 0.002 - 1e-9);
      busy += dates[i] - dates[i - 1] < 0.002 + 1e-9 ? 1 : 0;
    }
    CHECK(busy >= 20 * 6);
  }
}

// What connections get of a link, against what a real parameter server's did (docs/sharing.md): links of 400
// Mb/s, messages that take 10 or 80 ms alone.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;
using namespace std::string_literals;

namespace {

struct Lab {
  int workers = 4, servers = 1;
  double milliseconds = 10;  // for the whole model, alone on a link
  std::string consistency = "bsp";
  double spread = 0.5, cv = 0;  // of cubic
  int steps = 100;
};

ScenarioBuilder toml(const Lab& lab) {
  return phantom(std::llround(lab.milliseconds * 12'500))
      .set({"compute.time=30ms", "compute.distribution=lognormal", "compute.cv=0.02",
            "cluster.network.bandwidth=400Mbps", "cluster.network.latency=50us",
            "cluster.network.simgrid_model=cm02"})
      .set("training.steps", lab.steps)
      .set("consistency.model", lab.consistency)
      .set("cluster.workers", lab.workers)
      .set("cluster.servers", lab.servers)
      .set("cluster.network.share_spread", lab.spread)
      .set("cluster.network.share_cv", lab.cv);
}

// Coefficient of variation of a step's pulls over the workers: mean over the steps.
double variation(const Lab& lab) {
  const TracedRun run = toml(lab).trace();
  std::map<std::pair<int, int>, double> sent;
  std::map<int, std::vector<double>> times;  // by step
  std::map<int, int> steps;
  for (const RecordedEvent& e : run.events) {
    if (e.is("sent", "weights")) sent[{e.node, e.peer}] = e.at;
    if (e.is("received", "weights")) times[steps[e.node]++].push_back(e.at - sent.at({e.peer, e.node}));
  }
  double sum = 0;
  for (const auto& [step, pulls] : times) {
    double mean = 0, square = 0;
    for (const double t : pulls) mean += t / static_cast<double>(pulls.size());
    for (const double t : pulls) square += (t - mean) * (t - mean) / static_cast<double>(pulls.size());
    sum += std::sqrt(square) / mean;
  }
  return sum / static_cast<double>(times.size());
}

// Mean seconds that a request is on its way.
double request_time(const ScenarioBuilder& toml) {
  const TracedRun run = toml.trace();
  std::map<int, double> sent;  // by worker; a worker has one request at a time
  double sum = 0;
  int requests = 0;
  for (const RecordedEvent& e : run.events) {
    if (e.is("sent", "pull")) sent[e.node] = e.at;
    if (!e.is("received", "pull")) continue;
    sum += e.at - sent.at(e.peer);
    ++requests;
  }
  REQUIRE(requests > 100);
  return sum / requests;
}

double step_time(const Lab& lab) {
  const Json run = toml(lab).run();
  double sum = 0;
  for (int w = 0; w < lab.workers; ++w) sum += run["workers"][w]["mean_step_s"].get<double>() / lab.workers;
  return sum;
}

}  // namespace

TEST_CASE("pulls of one step vary as real ones do", "[oracle][slow]") {
  for (const int workers : {2, 4, 8}) {
    INFO(workers << " workers");
    const auto of = [&](double milliseconds, double cv) {
      return variation({.workers = workers, .milliseconds = milliseconds, .cv = cv, .steps = 60});
    };
    // Turns are a number of bytes, so a message eight times as long has an eighth of their variation.
    CHECK(of(10, 0) / of(80, 0) == Approx(8).epsilon(0.25));
    // Weights are a share of the time. Long messages vary more than under cubic and less than under bbr.
    const double cubic = workers == 2   ? 0.005
                         : workers == 4 ? 0.006
                                        : 0.012,
                 bbr = workers == 2   ? 0.073
                       : workers == 4 ? 0.096
                                      : 0.205;
    CHECK(of(80, 0.08) > cubic);
    CHECK(of(80, 0.08) < bbr);
    CHECK(of(10, 0.08) > of(80, 0.08));
    CHECK(of(10, 0.08) < 0.206);
    CHECK(variation({.workers = workers, .spread = 0, .cv = 0.2, .steps = 5}) < 1e-9);
  }
}

TEST_CASE("a request waits in its server's port behind the pushes of others", "[oracle]") {
  for (const char* model : {"fluid", "nic"}) {
    INFO(model);
    const ScenarioBuilder asp = toml({.milliseconds = 80, .consistency = "asp", .steps = 60})
                                    .set("cluster.network.model", model)
                                    .set("messages.acknowledge", true);
    const auto waits = [&](double part, double spread = 0.5) {
      return request_time(ScenarioBuilder(asp)
                              .set("cluster.network.share_queue", part)
                              .set("cluster.network.share_spread", spread));
    };
    const double alone = waits(0), short_queues = waits(0.005), longer = waits(0.01);
    // Up to three pushes of 4 MB arrive, with 20 kB of each in the port: 0.4 ms at 400 Mb/s.
    CHECK(alone < 0.2e-3);
    CHECK(short_queues > alone + 0.2e-3);
    CHECK(short_queues < alone + 3 * 0.4e-3);
    CHECK((longer - alone) / (short_queues - alone) == Approx(2).epsilon(0.25));
    CHECK(waits(0.01, 0) == Approx(waits(0, 0)));  // ideal sharing has no queues
  }
}

TEST_CASE("a request of an ordered connection waits, too, and a fault of the link stretches no wait",
          "[oracle]") {
  for (const char* model : {"fluid", "nic"}) {
    INFO(model);
    const ScenarioBuilder asp = toml({.milliseconds = 80, .consistency = "asp", .steps = 60})
                                    .set("cluster.network.model", model)
                                    .set("messages.order", "fifo")
                                    .set("cluster.network.share_queue", 0.01);
    const double waits = request_time(asp);
    CHECK(waits > 0.3e-3);
    CHECK(request_time(ScenarioBuilder(asp).set("cluster.network.share_queue", 0)) < 0.2e-3);
    // 20 times as slow, the packets themselves still take less than a millisecond.
    const ScenarioBuilder slow = asp.fault("degrade", "server 0", {"at=0s", "factor=0.05"});
    CHECK(request_time(slow) < waits + 2e-3);
  }
}

TEST_CASE("messages take turns on a degraded link as on any other", "[oracle]") {
  for (const char* simgrid_model : {"cm02", "lv08"}) {
    INFO(simgrid_model);
    const auto time = [&](double factor, const char* model) {
      const ScenarioBuilder bsp = toml({.milliseconds = 80, .cv = 0.1, .steps = 20})
                                      .set("cluster.network.model", model)
                                      .set("cluster.network.simgrid_model", simgrid_model);
      const std::string part = fmt::format("factor={}", factor);
      return (factor < 1 ? bsp.fault("degrade", "server 0", {"at=0s", part}) : bsp)
          .run()["sim_time_s"]
          .get<double>();
    };
    CHECK(time(0.9999, "fluid") == Approx(time(1, "fluid")).epsilon(5e-4));
    CHECK(time(0.5, "fluid") == Approx(time(0.5, "nic")).epsilon(0.01));
  }
}

TEST_CASE("two workers and two servers lose the first turns in which everybody sends to the same one",
          "[oracle]") {
  // Each of 4 messages a way has 2 MB: 80 ms for both of a link, and 128 KiB are a first turn of e = 2.62 ms.
  // Both workers begin with server 0, so server 1 has all pushes e later. Worker 1's first weights begin e
  // after worker 0's, and its others 2 e after the first server's date. In between, server 0 sends to both
  // workers: worker 1 has a part w / (1 + w), as its message has the weight w of one that waited.
  const double turn = 131072 / 50e6, w = 2e6 / (2e6 - 131072);
  for (const char* model : {"fluid", "nic"}) {
    INFO(model);
    const auto time = [&](const char* start) {
      return phantom(1'000'000)
          .set({"training.steps=1", "cluster.workers=2", "cluster.servers=2", "cluster.network.latency=50us",
                "cluster.network.bandwidth=400Mbps", "cluster.network.simgrid_model=cm02",
                "cluster.network.share_turn=1500B", "cluster.network.share_cv=0"})
          .set("cluster.network.model", model)
          .set("cluster.network.share_start", start)
          .run()["sim_time_s"]
          .get<double>();
    };
    CHECK(time("128KiB") - time("0B") == Approx((2 - w / (1 + w)) * turn).epsilon(0.01));
  }
}

TEST_CASE("asynchronous workers find phases in which their transfers do not meet", "[oracle]") {
  // The best is X + 2 M / B, as if each worker were alone; eight real workers needed 1.05 times as long as
  // one. With a share of its own for each connection eight need 1.30 times the best.
  for (const auto& [workers, servers] :
       std::vector<std::pair<int, int>>{{2, 1}, {4, 1}, {2, 3}, {4, 3}, {8, 3}}) {
    INFO(workers << " workers, " << servers << " servers");
    const Lab lab{.workers = workers, .servers = servers, .consistency = "asp", .steps = 200};
    const double best = 0.05, measured = step_time(lab);
    CHECK(measured < 1.07 * best);
    CHECK(measured > 0.93 * best);  // parts of one push that end before the others are answered before
  }
}

// Also where a window of W bytes a round trip holds it back: 4 MB at W / (2 latency), LV08's with 13.01 times
// the latency and 0.97 of the bandwidth.
TEST_CASE("a lone message takes as long with turns as without", "[oracle][slow]") {
  for (const std::string& network :
       {"latency = \"2ms\""s, "latency = \"10ms\"\ntcp_window = \"1MiB\""s,
        "latency = \"1ms\"\nsimgrid_model = \"cm02\"\ntcp_window = \"64KiB\""s, "latency = \"50us\""s}) {
    INFO(network);
    const auto time = [&](const std::string& more) {
      return phantom(1'000'000)
          .set({"training.steps=3", "cluster.workers=1", "cluster.servers=1", "compute.time=10ms"})
          .with("cluster.network", network + "\n" + more)
          .run()["sim_time_s"]
          .get<double>();
    };
    const double ideal = time("share_spread = 0.0");
    CHECK(time("") == Approx(ideal).epsilon(1e-9));
    CHECK(time("cross_traffic = true") == Approx(ideal).epsilon(1e-9));
  }
}

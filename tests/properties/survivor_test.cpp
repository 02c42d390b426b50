// Whoever comes back takes part again, also where only one worker is left.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Workers from 1 on are away from 100 ms to 250 ms of 400 ms.
struct Case {
  std::string architecture = "", training = "", fault = "leave", recovery = "";
  int workers = 2, servers = 0;
};

ScenarioBuilder toml(const Case& c) {
  ScenarioBuilder scenario =
      ScenarioBuilder({"model.layers=[64, 10]", "training.batch_size=8", "training.duration=400ms",
                       "compute.time=5ms", "recovery.heartbeat=5ms", "recovery.timeout=20ms",
                       "recovery.retry=10ms", "recovery.longest_retry=20ms"})
          .with("training", c.training)
          .set("cluster.workers", c.workers)
          .with("cluster", c.servers > 0 ? fmt::format("servers = {}", c.servers) : "")
          .with("recovery", c.recovery)
          .with(c.architecture);
  for (int worker = 1; worker < c.workers; ++worker) {
    const std::string who = fmt::format("worker {}", worker);
    scenario = c.fault == "crash"
                   ? scenario.fault("crash", who, {"at=100ms", "restart_after=150ms"})
                   : scenario.fault("leave", who, {"at=100ms"}).fault("join", who, {"at=250ms"});
  }
  return scenario;
}

std::string all_reduce(const std::string& algorithm) {
  return fmt::format("[architecture]\nkind = \"all-reduce\"\nalgorithm = \"{}\"\n", algorithm);
}

// Each worker that was away begins steps after 300 ms, and so do the others; verify holds.
void check_all_compute(const Case& c) {
  const ScenarioBuilder scenario = toml(c);
  INFO(scenario.toml());
  const KeptRun run(scenario);
  CHECK(run.summary()["stuck"].empty());
  const int first = 1 + c.servers;
  std::vector<int> steps(static_cast<std::size_t>(c.workers), 0);
  for (const RecordedEvent& event : run.events()) {
    if (event.is("computation", "begun") && event.at > 0.3)
      ++steps[static_cast<std::size_t>(event.node - first)];
  }
  for (const int own : steps) CHECK(own > 3);  // a clock of three local steps takes 15 ms
  run.check_promises();
}

}  // namespace

TEST_CASE("a lone survivor of a ring takes those back who come", "[survivor][slow]") {
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"})
    for (const std::string fault : {"leave", "crash"})
      for (const int workers : {2, 3})
        check_all_compute({.architecture = all_reduce(algorithm), .fault = fault, .workers = workers});
  check_all_compute({.architecture = all_reduce("ring"), .training = "local_steps = 3"});
  check_all_compute({.architecture = all_reduce("ring") + "[messages]\nunit = \"array\"\noverlap = true\n"});
  check_all_compute({.architecture = all_reduce("ring"), .recovery = "lost_data = \"reassign\""});
}

TEST_CASE("with servers, too, whoever comes back computes again", "[survivor][slow]") {
  for (const std::string model : {"bsp", "ssp", "asp", "k-async"})
    for (const std::string fault : {"leave", "crash"})
      check_all_compute({.architecture = "[consistency]\nmodel = \"" + model + "\"\n" +
                                         (model == "k-async" ? "k = 1\n" : ""),
                         .fault = fault,
                         .workers = 3,
                         .servers = 2});
}

TEST_CASE("a scheduler that comes back learns the view of a lone survivor", "[survivor]") {
  const TracedRun traced = toml({.architecture = all_reduce("ring")})
                               .fault("crash", "scheduler", {"at=150ms", "restart_after=20ms"})
                               .trace();
  int steps = 0;
  for (const RecordedEvent& event : traced.events)
    steps += event.is("computation", "begun") && event.node == 2 && event.at > 0.3 ? 1 : 0;
  CHECK(steps > 5);
}

TEST_CASE("the wait of a worker that a view ends is in the record", "[survivor]") {
  const TracedRun traced = toml({.architecture = all_reduce("ring"), .fault = "crash", .workers = 3}).trace();
  // Worker 0 waits for a part of a worker that is down until the scheduler has noticed that.
  double longest = 0;
  for (const RecordedEvent& event : traced.events) {
    if (event.is("wait") && event.node == 1 && event.at > 0.1 && event.at < 0.2)
      longest = std::max(longest, event.at - event.since);
  }
  CHECK(longest > 0.01);
}

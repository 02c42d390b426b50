// Goal: what psim says that a fault cost is the difference to the run without it. Method: the same scenario
// without the fault, with the recovery that the fault turns on.
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Messages of 0.5 MB and steps of 10 ms. Heartbeats and retries are there with a fault and without.
ScenarioBuilder cluster(const std::string& consistency = "bsp") {
  return phantom(250'000).set({"training.batch_size=8", "training.steps=30", "compute.time=10ms",
                               "cluster.workers=4", "cluster.servers=2", "cluster.network.bandwidth=10Gbps",
                               "cluster.network.latency=50us", "consistency.model=" + consistency,
                               "recovery.enabled=true", "recovery.heartbeat=20ms", "recovery.timeout=100ms",
                               "recovery.retry=50ms"});
}

double end_of(const Json& summary) { return summary["sim_time_s"]; }
Json why(const ScenarioBuilder& scenario) { return KeptRun(scenario, "events", true).told("why"); }

void check_sum(const Json& why) {
  double sum = 0;
  for (const Json& seconds : why["by_kind"]) sum += seconds.get<double>();
  CHECK(sum == Approx(why["total_s"].get<double>()));
}

}  // namespace

TEST_CASE("why: the cost of a fault is the difference to the run without it", "[why]") {
  struct Case {
    std::string kind, node;
    FieldValues fields;
    std::string consistency = "bsp", verdict = "fault";  // empty: another cause weighs more
    FieldValues sets = {};
  };
  const std::vector<Case> cases{
      {"crash", "server 1", {"at=105ms"}, "bsp", "fault", {"replication.copies=1"}},
      {"crash", "server 1", {"at=105ms", "restart_after=2s"}, "asp", "fault", {"recovery.servers=wait"}},
      {"crash", "worker 1", {"at=105ms", "restart_after=1s"}, "bsp", ""},
      {"slow", "worker 0", {"at=100ms", "lasts=2s", "factor=0.0"}},
      {"slow",
       "scheduler",
       {"at=100ms", "lasts=1s", "factor=0.0"},
       "bsp",
       "scheduler",
       {"training.work=dynamic", "training.work_every=10"}},
      {"drop", "worker 0", {"probability=0.2"}},
      {"drop", "worker 1", {"at=100ms", "lasts=500ms", "messages=[\"heartbeat\"]"}, "bsp", ""},
      {"delay", "worker 0", {"delay=30ms"}},
      // Half of all bytes at the server's link.
      {"duplicate",
       "server 0",
       {},
       "bsp",
       "fault",
       {"cluster.network.bandwidth=500Mbps", "cluster.servers=1"}},
  };
  for (const Case& one : cases) {
    INFO(one.kind << " of " << one.node);
    const ScenarioBuilder without = cluster(one.consistency).set(one.sets);
    const ScenarioBuilder with = without.fault(one.kind, one.node, one.fields);
    const Json told = why(with);
    INFO(told["sentences"].dump());
    REQUIRE(told["faults"].size() == 1);
    const double cost = end_of(with.run()) - end_of(without.run());
    CHECK(told["faults"][0]["cost_s"].get<double>() == Approx(cost).margin(1e-12));
    CHECK(told["faults"][0]["nodes"] == Json::array({one.node}));
    check_sum(told);
    if (one.verdict.empty()) continue;
    CHECK(told["verdict"]["kind"] == one.verdict);
    CHECK(told["verdict"]["nodes"] == Json::array({one.node}));
    CHECK(told["verdict"]["seconds"].get<double>() == Approx(cost));
  }
}

TEST_CASE("why: each fault has its own cost, the small ones, too", "[why]") {
  const ScenarioBuilder neither = cluster().set({"replication.copies=1"});
  const auto crash = [](const ScenarioBuilder& to) { return to.fault("crash", "server 1", {"at=105ms"}); };
  const auto late = [](const ScenarioBuilder& to) {
    return to.fault("delay", "worker 2", {"at=50ms", "lasts=10ms", "delay=1ms"});
  };
  const Json told = why(late(crash(neither)));
  REQUIRE(told["faults"].size() == 2);
  const double both = end_of(late(crash(neither)).run());
  CHECK(told["faults"][0]["cost_s"].get<double>() ==
        Approx(both - end_of(late(neither).run())).margin(1e-12));
  CHECK(told["faults"][1]["cost_s"].get<double>() ==
        Approx(both - end_of(crash(neither).run())).margin(1e-12));
  const std::string said = told["sentences"].dump();
  INFO(said);
  CHECK_THAT(said, Catch::Contains("The crash of server 1 at 105 ms cost "));
  CHECK_THAT(said, Catch::Contains("elayed messages of worker 2 from 50 ms to 60 ms "));
}

TEST_CASE("why: where the date ends the run, a fault costs updates", "[why]") {
  const ScenarioBuilder without =
      cluster().set({"training={duration=\"1s\", batch_size=8}", "recovery.servers=wait"});
  const ScenarioBuilder with = without.fault("crash", "server 0", {"at=405ms"});
  const Json told = why(with);
  const std::int64_t lost =
      without.run()["updates"].get<std::int64_t>() - with.run()["updates"].get<std::int64_t>();
  INFO(told["sentences"].dump());
  CHECK(lost > 30);
  CHECK(told["faults"][0]["lost_updates"] == lost);
  CHECK_THAT(told["sentences"][0].get<std::string>(), Catch::Contains(fmt::format(" cost {} of ", lost)));
  CHECK_THAT(told["sentences"][1].get<std::string>(), Catch::Contains("which did not come back"));
}

TEST_CASE("why: a cost that was not measured is a part of the path, and says so", "[why]") {
  const ScenarioBuilder scenario =
      cluster().set({"replication.copies=1"}).fault("crash", "server 1", {"at=105ms"});
  const Json unmeasured = KeptRun(scenario).told("why");
  CHECK(unmeasured["faults"][0]["cost_s"].is_null());
  CHECK(unmeasured["faults"][0]["on_path_s"].get<double>() > 0);
  CHECK_THAT(unmeasured["sentences"][0].get<std::string>(), !Catch::Contains(" cost "));
  check_sum(unmeasured);
  // Up to a date nobody knows what would have been.
  const Json until = KeptRun(scenario, "events", true).told("why", {"--at", "0.25s"});
  CHECK(until["faults"][0]["cost_s"].is_null());
}

TEST_CASE("why: a node that is suspected and comes back had begun", "[why]") {
  for (const std::string workers : {"restart", "remove"}) {
    INFO(workers);
    const ScenarioBuilder scenario =
        phantom(100'000)
            .set({"architecture.kind=all-reduce", "cluster.workers=4", "training.steps=100",
                  "training.batch_size=8", "compute.time=10ms", "recovery.workers=" + workers,
                  "recovery.heartbeat=20ms", "recovery.timeout=100ms"})
            .fault("drop", "worker 1", {"at=200ms", "lasts=400ms", "messages=[\"heartbeat\"]"});
    const KeptRun run(scenario);
    REQUIRE(run.summary()["failures"]["suspicions"] == 1);
    run.check_promises();
    for (const Json& piece : run.told("why")["path"]) CHECK(piece["cause"] != "had not begun");
  }
}

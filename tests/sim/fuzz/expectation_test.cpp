// Goal: the fuzzer knows a run that was bound to end from one that was without hope.
#include "sim/fuzz/shrink.hpp"

#include "sim/fuzz/generator.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Scenario with(std::vector<FaultSpec> faults) {
  Scenario scenario;
  scenario.cluster.workers = 2;
  scenario.cluster.servers = 2;
  scenario.recovery.enabled = true;
  scenario.recovery.timeout.value = 10 * scenario.recovery.heartbeat.value;
  scenario.recovery.patience.value = 10;
  scenario.recovery.longest_retry.value = 0.3;
  scenario.faults = std::move(faults);
  return scenario;
}

Seconds at(double date) {
  Seconds seconds;
  seconds.value = date;
  return seconds;
}

}  // namespace

TEST_CASE("a run must end when all that fails comes back", "[fuzz]") {
  const FaultSpec down{.kind = "crash", .nodes = {"server 0"}, .at = at(1)},
      up{.kind = "restart", .nodes = {"servers"}, .at = at(2)},
      too_early{.kind = "restart", .nodes = {"servers"}, .at = at(0.5)},
      other{.kind = "restart", .nodes = {"server 1"}, .at = at(2)};
  CHECK(fuzz::must_end(with({})));
  CHECK_FALSE(fuzz::must_end(with({down})));
  CHECK(fuzz::must_end(with({down, up})));
  CHECK_FALSE(fuzz::must_end(with({down, too_early})));
  CHECK_FALSE(fuzz::must_end(with({down, other})));
  FaultSpec restarts = down;
  restarts.restart_after = at(0.1);
  CHECK(fuzz::must_end(with({restarts})));
  restarts.mtbf = at(1);
  CHECK_FALSE(fuzz::must_end(with({restarts})));
}

TEST_CASE("a server that takes longer for a step's messages than others wait may drown in them", "[fuzz]") {
  Scenario scenario = with({});
  scenario.cluster.network.endpoint.receive_overhead.value = 1e-3;
  scenario.recovery.timeout.value = 5e-3;  // one shard a server, two workers, a pull and a push: 4 ms
  CHECK(fuzz::must_end(scenario));
  scenario.recovery.timeout.value = 3e-3;
  CHECK_FALSE(fuzz::must_end(scenario));
  scenario.recovery.timeout.value = 1;
  scenario.recovery.longest_retry.value = 3e-3;
  CHECK_FALSE(fuzz::must_end(scenario));
  scenario.recovery.longest_retry.value = 5e-3;
  CHECK(fuzz::must_end(scenario));
  scenario.replication.copies = 1;  // and an entry of the log: 6 ms
  CHECK_FALSE(fuzz::must_end(scenario));
}

TEST_CASE("messages that are lost for ever need patience for many repetitions", "[fuzz]") {
  const FaultSpec drop{.kind = "drop", .probability = 0.3};
  Scenario scenario = with({drop});
  CHECK(fuzz::must_end(scenario));
  scenario.recovery.patience.value = 1;
  CHECK_FALSE(fuzz::must_end(scenario));
  CHECK_FALSE(fuzz::must_end(with({drop, drop})));  // more than half of them
  FaultSpec passing = drop;
  passing.probability = 1;
  CHECK_FALSE(fuzz::must_end(with({passing})));
  passing.until = at(1);
  CHECK(fuzz::must_end(with({passing})));
}

TEST_CASE("a server that is suspected again and again needs a copy of its shards", "[fuzz]") {
  Scenario scenario = with({{.kind = "drop", .probability = 0.3}});
  scenario.recovery.timeout.value = 6 * scenario.recovery.heartbeat.value;
  CHECK_FALSE(fuzz::must_end(scenario));
  const auto ends = [&](const auto& change) {
    Scenario other = scenario;
    change(other);
    return fuzz::must_end(other);
  };
  CHECK(ends([](Scenario& one) { one.replication.copies = 1; }));
  CHECK(ends([](Scenario& one) { one.cluster.servers = 1; }));
  CHECK(ends([](Scenario& one) { one.recovery.servers = LostServers::wait; }));
  CHECK(ends([](Scenario& one) { one.faults[0].messages = {"push"}; }));
  CHECK(ends([](Scenario& one) { one.faults[0].probability = 0.05; }));
  CHECK_FALSE(ends([](Scenario& one) { one.faults[0].messages = {"push", "heartbeat"}; }));
  CHECK_FALSE(ends([](Scenario& one) {
    one.recovery.timeout.value = 10;
    one.recovery.detector = DetectorKind::phi_accrual;
  }));
}

TEST_CASE("what a condition brings may never come", "[fuzz]") {
  const FaultSpec join{.kind = "join", .nodes = {"server 0"}, .when = "updates >= 5"},
      cut{.kind = "link-down", .nodes = {"server 0"}, .when = "updates >= 5", .lasts = at(1)};
  CHECK_FALSE(fuzz::must_end(with({join})));
  CHECK(fuzz::must_end(with({cut})));
  const FaultSpec leave{.kind = "leave", .nodes = {"servers"}, .at = at(1)};
  CHECK_FALSE(fuzz::must_end(with({leave})));
}

constexpr const char* drawn_features[] = {"group.workers",
                                          "inference.nodes",
                                          "data.delivery database",
                                          "cluster.worker.device.speeds",
                                          "snapshot.every",
                                          "training.warmup_steps",
                                          "training.local_steps",
                                          "training.accumulate",
                                          "training.pull_every",
                                          "training.delay_compensation",
                                          "training.staleness_aware",
                                          "training.staleness_weight polynomial",
                                          "training.local_time",
                                          "consistency.window",
                                          "consistency.deadline",
                                          "consistency.deadline_mad",
                                          "consistency.grace",
                                          "consistency.late next",
                                          "consistency.max_staleness",
                                          "consistency.cache",
                                          "consistency.array.layer",
                                          "training.feature_blocks",
                                          "training.multi_precision",
                                          "training.work proportional",
                                          "training.work dynamic",
                                          "training.work stealing",
                                          "training.update worker",
                                          "model.precision float16",
                                          "model.precision bfloat16",
                                          "filter.on pull",
                                          "filter.on both",
                                          "filter.kind kkt",
                                          "filter.kind key-caching",
                                          "filter.kind significant",
                                          "filter.kind random-skip",
                                          "recovery.lost_data reassign",
                                          "recovery.hand_over stop-and-copy",
                                          "recovery.detector phi-accrual",
                                          "replication.layout chain",
                                          "replication.when every-push",
                                          "recovery.workers wait",
                                          "recovery.servers wait",
                                          "recovery.semantics at-least-once",
                                          "consistency.model dssp",
                                          "consistency.model k-sync",
                                          "consistency.model k-batch-sync",
                                          "consistency.model k-async",
                                          "consistency.model k-batch-async",
                                          "training.algorithm elastic",
                                          "fault.kind leave",
                                          "fault.kind join",
                                          "fault.kind restart",
                                          "fault.kind heal",
                                          "fault.kind disk-loss",
                                          "fault.kind reorder",
                                          "fault.when",
                                          "fault.mtbf",
                                          "model.kind logistic",
                                          "model.kind phantom"};

TEST_CASE("the generator draws every feature that may fail", "[fuzz]") {
  std::set<std::string> seen;
  for (std::uint64_t run = 0; run < 2000; ++run) seen.merge(fuzz::features(fuzz::draw(7, run, 0)));
  for (const char* feature : drawn_features) {
    INFO(feature);
    CHECK(seen.contains(feature));
  }
}

// Why runs took as long as they did, where something unusual decides: against a run or a formula that says
// so.

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

ScenarioBuilder workers(int count) {
  return phantom(1000)
      .set({"training.batch_size=1", "training.steps=10", "compute.time=10ms", "cluster.network.latency=10us",
            "cluster.network.share_spread=0.0"})
      .set("cluster.workers", count);
}

ScenarioBuilder cluster(int count, int servers) { return workers(count).set("cluster.servers", servers); }

Json why(const ScenarioBuilder& scenario) {
  const KeptRun run(scenario);
  REQUIRE(run.ask("verify").code == 0);
  return run.told("why");
}

double share(const Json& why, const std::string& kind, const std::string& node = "") {
  double sum = 0;
  for (const Json& one : why["shares"]) {
    if (one["kind"] == kind && (node.empty() || one["node"] == node)) sum += one["share"].get<double>();
  }
  return sum;
}

// 10 ms a push.
const ScenarioBuilder working =
    cluster(4, 1).set({"cluster.server.speed=100kf", "cluster.server.flops_per_value=1.0"});

}  // namespace

TEST_CASE("a server's work is its own whatever else is on", "[oracle][causes][slow]") {
  const Json alone = why(working);
  // Four pushes of 10 ms each in a step, after 10 ms of computing.
  CHECK(share(alone, "service") == Approx(0.8).epsilon(0.02));
  CHECK(share(alone, "compute") == Approx(0.2).epsilon(0.05));
  for (const char* more :
       {"recovery.enabled=true", "snapshot={every=\"5 updates\"}", "replication.copies=1"}) {
    INFO(more);
    const bool is_copied = std::string(more).starts_with("replication");
    const Json with = why(working.set({more, is_copied ? "cluster.servers=2" : "cluster.servers=1"}));
    CHECK(share(with, "idle") < 0.01);
    CHECK(share(with, "service") > 0.6);
  }
  // Inference is answered beside it, and is no cause of training's end.
  const Json serving = why(working.set({"inference={nodes=2,rate=100,refresh=\"20ms\"}"}));
  CHECK(share(serving, "service") == Approx(share(alone, "service")).epsilon(0.02));
  for (const Json& piece : serving["path"])
    CHECK(piece["node"].get<std::string>().find("inference") == std::string::npos);
}

TEST_CASE("a storage that writes is at work", "[oracle][causes][failure]") {
  // 4 kB at 20 kB/s: 200 ms a snapshot; the new owner waits for all that are written before its own request.
  const Json told = why(cluster(4, 2)
                            .fault("crash", "server 1", {"at=70ms"})
                            .set({"snapshot={every=\"2 updates\",bandwidth=\"10kBps\"}",
                                  "recovery={heartbeat=\"20ms\",timeout=\"100ms\",retry=\"10s\"}"}));
  CHECK(share(told, "service", "storage") > 0.4);
  CHECK(share(told, "idle") < 0.02);
}

TEST_CASE("updates that a crash makes necessary again are said", "[oracle][causes][failure]") {
  const ScenarioBuilder crash =
      cluster(4, 3)
          .fault("crash", "server 1", {"at=205ms"})
          .set({"training.steps=60", "recovery={heartbeat=\"20ms\",timeout=\"100ms\",retry=\"20ms\"}"});
  const auto last_sentence = [](const ScenarioBuilder& scenario) {
    return why(scenario)["sentences"].back().get<std::string>();
  };
  const std::string lost = last_sentence(crash);
  INFO(lost);
  CHECK(lost.find("After server 1 crashed at 205 ms, training stood still for ") == 0);
  const std::string noticed = " ms, until the scheduler noticed it; ";
  REQUIRE(lost.find(noticed) != std::string::npos);
  const std::string again = " ms later the server had as many updates as before the crash.";
  REQUIRE(lost.ends_with(again));
  const std::size_t number = lost.find(noticed) + noticed.size();
  // Its shard had 20 versions, of 10 ms of computing and of two messages each.
  CHECK(std::stod(lost.substr(number)) == Approx(20 * 10.05).epsilon(0.02));
  const std::string kept = last_sentence(crash.set("replication.copies", 1));
  INFO(kept);
  CHECK(kept.find(" ms, until the scheduler noticed it") != std::string::npos);
  CHECK(kept.find("as many updates as before") == std::string::npos);
}

TEST_CASE("messages that wait for their turn are the network's", "[oracle][causes]") {
  const Json told =
      why(cluster(4, 1).set({"messages={unit=\"array\",order=\"fifo\"}", "model.parameters=40000",
                             "model.arrays=[10000,10000,10000,10000]", "cluster.network.bandwidth=10MBps"}));
  CHECK(share(told, "service") == 0);
  CHECK(share(told, "idle") < 0.01);
  CHECK(share(told, "network") > 0.7);
}

TEST_CASE("a tree's second message leaves after its first", "[oracle][causes]") {
  const Json told = why(workers(4).set({"architecture.kind=all-reduce", "architecture.algorithm=tree"}));
  CHECK(share(told, "timeout") == 0);
  CHECK(share(told, "idle") < 1e-3);
}

TEST_CASE("a wait that goes on at the end counts, and so does what it is for", "[oracle][causes]") {
  const Json told = why(cluster(2, 1).straggler(1, 100).set({"training.duration=900ms"}));
  CHECK(share(told, "compute", "worker 1") > 0.98);
  bool is_there = false;
  for (const Json& wait : told["waits"]) {
    if (wait["worker"] != 0 || wait["for"] != "worker 1") continue;
    is_there = true;
    CHECK(wait["count"] == 1);
    CHECK(wait["seconds"].get<double>() == Approx(0.89).epsilon(0.01));
  }
  CHECK(is_there);
}

TEST_CASE("a run that ends when the last worker is given up ends with that silence",
          "[oracle][causes][failure]") {
  const Json told = why(cluster(2, 1)
                            .fault("crash", "worker 1", {"at=50ms"})
                            .set({"consistency.model=asp", "recovery.timeout=2s"}));
  CHECK(share(told, "timeout", "scheduler") > 0.95);
  CHECK(told["path"].back()["cause"].get<std::string>().find("worker 1") != std::string::npos);
}

TEST_CASE("a straggler is described as it is", "[causes][slow]") {
  const auto first = [](const std::string& rows) {
    const Json told = why(cluster(2, 1).set({"straggler=" + rows}));
    return told["sentences"][0].get<std::string>();
  };
  CHECK(first("[{workers=[1],slowdown=3}]").find("Worker 1 (3x slower from 0 s on)") == 0);
  CHECK(first("[{workers=[1],slowdown=2},{workers=[1],slowdown=6}]").find("Worker 1 (a straggler)") == 0);
  CHECK(
      first("[{workers=[1],slowdown=9},{workers=[1],slowdown=6,from=\"10s\"}]").find("Worker 1 (9x slower") ==
      0);
  CHECK(first("[{workers=[1],slowdown=20,from=\"5ms\",until=\"100ms\",every=\"200ms\"}]")
            .find("again and again") != std::string::npos);
}

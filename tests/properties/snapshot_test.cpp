// Snapshots and copies: of which shards, when, and what they cost.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const ScenarioBuilder scenario = ScenarioBuilder(
    {"model.kind=phantom", "model.arrays=[3000, 1000, 2000]", "messages.unit=array", "training.steps=20",
     "training.batch_size=4", "compute.time=10ms", "cluster.workers=2", "cluster.servers=1",
     "recovery.enabled=true", "recovery.heartbeat=20ms", "recovery.timeout=70ms", "recovery.retry=50ms"});

}  // namespace

TEST_CASE("every shard of a server gets a snapshot at each of the updates that are asked for", "[recovery]") {
  const TracedRun run = (scenario + "[snapshot]\nevery = \"5 updates\"\n").trace();
  std::map<std::int64_t, std::vector<std::int64_t>> versions;  // by shard
  for (const RecordedEvent& event : run.events) {
    if (event.is("snapshot")) versions[event["shard"]].push_back(event["version"]);
  }
  CHECK(versions.size() == 3);
  for (const auto& [shard, taken] : versions) {
    INFO("shard " << shard);
    REQUIRE(taken.size() >= 3);
    CHECK(std::vector(taken.begin(), taken.begin() + 3) == std::vector<std::int64_t>{5, 10, 15});
  }
}

// The disk writes one state after the other, and a server that takes over waits until it has read its own.
TEST_CASE("snapshots are written and read at the bandwidth of the disk", "[recovery]") {
  constexpr double bandwidth = 1e6;
  const TracedRun run = (scenario +
                         "[snapshot]\nevery = \"5 updates\"\nbandwidth = \"1MBps\"\n"
                         "[[fault]]\nkind = \"crash\"\nnodes = [\"server 0\"]\nat = \"120ms\"\n"
                         "restart_after = \"10ms\"\n")
                            .trace();
  REQUIRE(run.summary["stuck"].empty());
  std::map<std::int64_t, RecordedEvent> asked, here;  // by shard
  double free = 0;                                    // when the disk has done what came before
  int written = 0, read = 0;
  for (const RecordedEvent& event : run.events) {
    const bool at_storage = event.is("received") && event.node == 4;
    if (at_storage && event.kind == "state") here[event["shard"]] = event;
    if (at_storage && event.kind == "restore") asked[event["shard"]] = event;
    const double seconds = static_cast<double>(here[event["shard"]]["sent_bytes"]) / bandwidth;
    if (event.is("snapshot")) {
      const double least = std::max(free, here.at(event["shard"]).at) + seconds;
      CHECK(event.at == Approx(least).epsilon(1e-9));
      free = event.at;
      ++written;
    }
    if (event.is("sent", "state") && event.node == 4) {
      CHECK(event.at >=
            asked.at(event["shard"]).at + static_cast<double>(event["sent_bytes"]) / bandwidth * (1 - 1e-9));
      CHECK(event["sent_bytes"] > 4000);
      free = event.at;
      ++read;
    }
  }
  CHECK(written >= 6);
  CHECK(read >= 3);
}

TEST_CASE("no snapshot of a shard leaves while its last one is on the way", "[recovery]") {
  const TracedRun run =
      scenario.set({"cluster.network.bandwidth=1Mbps"}).with("[snapshot]\nevery = \"1ms\"\n").trace();
  REQUIRE(run.summary["stuck"].empty());
  std::map<std::int64_t, int> on_the_way, sent;  // by shard
  for (const RecordedEvent& event : run.events) {
    if (event.kind != "state") continue;
    const std::int64_t shard = event["shard"];
    if (event.is("sent")) {
      CHECK(on_the_way[shard]++ == 0);
      ++sent[shard];
    } else if (event.is("received")) {
      --on_the_way[shard];
    }
  }
  REQUIRE(sent.size() == 3);
  for (const auto& [shard, count] : sent) CHECK(count >= 5);
}

// What a replica is sent goes through its processor as through its owner's: a step takes count *
// flops_per_value / speed twice more than its computation, instead of once.
TEST_CASE("a replica computes for each value that it is sent", "[recovery]") {
  const auto seconds = [](const char* more) {
    const Json run =
        phantom(20000)
            .set({"training.steps=20", "training.batch_size=4", "compute.time=10ms", "cluster.workers=1",
                  "cluster.servers=2", "cluster.network.latency=0s", "cluster.network.bandwidth=1000Gbps",
                  "cluster.network.simgrid_model=cm02", "cluster.server.speed=1Mf",
                  "cluster.server.flops_per_value=1", "recovery.enabled=true"})
            .with(more)
            .run();
    return run["sim_time_s"].get<double>();
  };
  constexpr double half = 10000 * 1.0 / 1e6;  // each server owns one half, and has a copy of the other
  CHECK(seconds("") == Approx(20 * (0.01 + half)).epsilon(1e-3));
  CHECK(seconds("[replication]\ncopies = 1\n") == Approx(20 * (0.01 + 2 * half)).epsilon(1e-3));
}

TEST_CASE("each stage of a pipeline stores the version that is asked for", "[recovery]") {
  const TracedRun run =
      phantom(9)
          .set({"architecture.kind=model-parallel", "cluster.workers=3", "training.steps=12",
                "training.batch_size=3", "compute.time=10ms", "snapshot.every=5 updates"})
          .trace();
  std::map<std::int64_t, std::vector<std::int64_t>> versions;  // by stage
  for (const RecordedEvent& event : run.events) {
    if (event.is("snapshot")) versions[event["shard"]].push_back(event["version"]);
  }
  CHECK(versions.size() == 3);
  for (const auto& [stage, stored] : versions) CHECK(stored == std::vector<std::int64_t>{5, 10});
}

// Goal: a record tells what each wait was for, so that a delay can be followed to its cause. Method: clusters
// in which it is known who holds up whom, and the rows of `wait` and `release` in their records.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Two servers, nodes 1 and 2; workers 3 to 5, of which the last takes twice as long.
ScenarioBuilder scenario(const std::string& more) {
  return phantom(1000)
             .set({"training.steps=6", "training.batch_size=4", "cluster.servers=2", "cluster.workers=3",
                   "compute.time=100ms"})
             .straggler(2, 2) +
         more;
}
constexpr int slow = 5;

std::map<std::int64_t, RecordedEvent> by_number(const TracedRun& run) {
  std::map<std::int64_t, RecordedEvent> events;
  for (const RecordedEvent& e : run.events) events[e["number"]] = e;
  return events;
}

}  // namespace

TEST_CASE("a wait leads to its answer, to the push that released it, and to that worker's computation",
          "[waits]") {
  const TracedRun run = scenario("[consistency]\nmodel = \"bsp\"\n").trace();
  const std::map<std::int64_t, RecordedEvent> events = by_number(run);
  int followed = 0;
  for (const RecordedEvent& wait : run.events) {
    if (!wait.is("wait") || wait.node == slow || wait["clock"] == 0) continue;
    CAPTURE(wait.at, wait.node);
    const RecordedEvent& answer = events.at(wait["message"]);
    REQUIRE((answer.kind == "weights" || answer.kind == "finished"));
    CHECK(answer.peer == wait.node);
    CHECK(answer.node == wait["sender"]);
    CHECK(answer["shard"] == wait["shard"]);
    const RecordedEvent* release = nullptr;
    for (const RecordedEvent& e : run.events) {
      const bool is_its = e.is("release") && e.node == answer.node && e["shard"] == answer["shard"] &&
                          e["worker"] == wait.node && e["pull"] == answer["pull"];
      if (is_its) release = &e;
    }
    REQUIRE(release != nullptr);
    CHECK(release->at == answer.at);
    CHECK(release->kind == "push");
    CHECK((*release)["version"] == answer["version"]);
    const RecordedEvent& push = events.at((*release)["message"]);
    CHECK(push.kind == "push");
    CHECK(push.node == slow);
    CHECK(push["push"] == (*release)["push"]);
    CHECK(push["clock"] + 1 == wait["clock"]);
    ++followed;
  }
  CHECK(followed >= 2 * 5);
}

TEST_CASE("what a worker does not compute it waits for something", "[waits]") {
  for (const std::string model : {"model = \"bsp\"", "model = \"asp\"", "model = \"ssp\"\nstaleness = 1"}) {
    CAPTURE(model);
    const TracedRun run = scenario("[consistency]\n" + model + "\n").trace();
    std::map<int, double> waited, first_pull, computed, begun, finished;
    for (const RecordedEvent& e : run.events) {
      if (e.is("sent", "pull")) first_pull.try_emplace(e.node, e.at);
      if (e.is("wait")) waited[e.node] += e.at - e.since;
      if (e.is("computation", "begun")) begun[e.node] = e.at;
      if (e.is("computation", "ended")) computed[e.node] += e.at - begun[e.node];
      if (e.is("finish")) finished[e.node] = e.at;
    }
    for (int node = 3; node <= 5; ++node) {
      CAPTURE(node);
      CHECK(waited[node] > 0);
      CHECK(waited[node] + computed[node] == Approx(finished[node] - first_pull[node]).epsilon(1e-9));
    }
  }
}

TEST_CASE(
    "a pull that waits for copies is released by a confirmation, one that a crash held up by a view or a "
    "state",
    "[waits]") {
  const TracedRun run = scenario(ScenarioBuilder({"consistency.model=asp", "replication.copies=1",
                                                  "recovery.heartbeat=20ms", "recovery.timeout=100ms"})
                                     .fault("crash", "server 0", {"at=250ms", "restart_after=100ms"})
                                     .toml())
                            .trace();
  const std::map<std::int64_t, RecordedEvent> events = by_number(run);
  std::set<std::string> reasons;
  for (const RecordedEvent& e : run.events) {
    if (!e.is("release")) continue;
    reasons.insert(e.kind);
    CAPTURE(e.at, e.kind);
    CHECK(e.columns.contains("view") == (e.kind == "view"));
    if (e.columns.contains("message")) CHECK(events.at(e["message"]).node == e["sender"]);
    if (e.kind == "confirmation") CHECK(events.at(e["message"]).kind == "replicated");
    if (e.kind == "state") CHECK(events.at(e["message"]).kind == "state");
  }
  CHECK(reasons.contains("confirmation"));
  CHECK((reasons.contains("view") || reasons.contains("state")));
}

TEST_CASE("a worker of an all-reduce waits for its peers", "[waits]") {
  const TracedRun run = phantom(1000)
                            .set({"architecture.kind=all-reduce", "training.steps=3", "training.batch_size=4",
                                  "cluster.workers=3", "compute.time=100ms"})
                            .straggler(2, 2)
                            .trace();
  const std::map<std::int64_t, RecordedEvent> events = by_number(run);
  int waits = 0;
  for (const RecordedEvent& e : run.events) {
    if (!e.is("wait")) continue;
    CHECK(e.kind == "peers");
    const RecordedEvent& chunk = events.at(e["message"]);
    CHECK(chunk.kind == "chunk");
    CHECK(chunk.node == e["sender"]);
    CHECK(chunk.peer == e.node);
    ++waits;
  }
  CHECK(waits > 3);
}

// Goal: the books of failures tell true from false suspicions, and when a crash was made good. Method: the
// events of one crash, written down by hand.
#include "sim/record/failure_log.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// Servers 1 and 2 own shards 0 and 1; server 1 has reached version 5 when it crashes at date 2.
FailureLog after_a_crash() {
  FailureLog log({0, 1}, 2, 0);
  log.on({1, 1, ModelUpdate{.shard = 0, .version = 5}});
  log.on({2, 0, FaultChange{.kind = "crash", .begins = true, .target = 1}});
  return log;
}

}  // namespace

TEST_CASE("a suspicion is false when its node is up", "[record]") {
  FailureLog log = after_a_crash();
  log.on({2.5, 0, Suspicion{.suspect = 1}});
  CHECK(log.stats().suspicions == 1);
  CHECK(log.stats().false_suspicions == 0);
  log.on({2.6, 0, Suspicion{.suspect = 2}});
  CHECK(log.stats().false_suspicions == 1);
}

TEST_CASE("a crash is made good when its shards are as far as they were", "[record]") {
  FailureLog log = after_a_crash();
  log.on({3, 2, Promotion{.shard = 0, .version = 3}});
  log.on({3.5, 2, ModelUpdate{.shard = 0, .version = 4}});
  REQUIRE(log.stats().recoveries.size() == 1);
  CHECK(!log.stats().recoveries[0].caught_up);
  log.on({4, 2, ModelUpdate{.shard = 0, .version = 5}});
  CHECK(log.stats().recoveries[0].caught_up == 4.0);
}

TEST_CASE("an owner that has not heard of the next one does not own the shard again", "[record]") {
  FailureLog log = after_a_crash();
  log.on({3, 2, Promotion{.shard = 0, .epoch = 2, .version = 3}});
  log.on({3.1, 1, Promotion{.shard = 0, .epoch = 1, .version = 5}});
  log.on({4, 0, FaultChange{.kind = "crash", .begins = true, .target = 1}});
  CHECK(log.stats().recoveries.size() == 1);  // at date 4 it owned nothing
}

TEST_CASE("a lost worker is made good when the next group has done the step that was in hand", "[record]") {
  FailureLog log({}, 0, 3);
  const auto computes = [&log](double at) {
    log.on({at, 1, Computation{.phase = ComputePhase::begun, .clock = 4}});
  };
  for (const NodeId worker : {1U, 2U}) log.on({1, worker, ModelUpdate{.version = 4}});
  log.on({2, 0, FaultChange{.kind = "crash", .begins = true, .target = 3}});
  log.on({2.5, 0, Suspicion{.suspect = 3}});
  log.on({2.6, 0, ViewChange{1}});
  for (const NodeId worker : {1U, 2U}) log.on({2.6, 0, Participant{1, worker}});
  computes(2.65);  // it has not heard of it yet
  Sent agreement;
  agreement.kind = MessageKind::regroup;
  log.on({2.7, 1, agreement});
  computes(2.75);
  REQUIRE(log.stats().recoveries.size() == 1);
  const Recovery& recovery = log.stats().recoveries[0];
  CHECK(recovery.is_worker);
  CHECK(recovery.detected == 2.6);
  CHECK(recovery.reformed == 2.75);
  log.on({2.9, 2, ModelUpdate{.version = 4}});
  CHECK(!recovery.caught_up);
  log.on({3, 2, ModelUpdate{.version = 5}});
  CHECK(recovery.caught_up == 3.0);
}

TEST_CASE("who is left alone agrees with nobody", "[record]") {
  FailureLog log({}, 0, 2);
  log.on({2, 0, FaultChange{.kind = "crash", .begins = true, .target = 2}});
  log.on({2.5, 0, Suspicion{.suspect = 2}});
  log.on({2.6, 0, ViewChange{1}});
  log.on({2.6, 0, Participant{1, 1}});
  log.on({2.8, 1, Computation{.phase = ComputePhase::begun, .clock = 4}});
  CHECK(log.stats().recoveries.at(0).reformed == 2.8);
}

TEST_CASE("a worker that had done its steps is no loss", "[record]") {
  FailureLog log({}, 0, 2);
  log.on({1, 2, Finish{.clock = 5}});
  log.on({2, 0, FaultChange{.kind = "crash", .begins = true, .target = 2}});
  CHECK(log.stats().recoveries.empty());
}

TEST_CASE("a second crash of a server is noticed anew", "[record]") {
  FailureLog log = after_a_crash();
  const auto notice = [&log](double at, NodeId node) {
    log.on({at, 0, Suspicion{.suspect = node}});
    log.on({at, 0, ViewChange{}});
  };
  notice(2.5, 1);
  log.on({3, 0, FaultChange{.kind = "crash", .begins = false, .target = 1}});
  Received join;
  join.kind = MessageKind::join;
  join.from = 1;
  join.to = 0;
  log.on({3.1, 0, join});
  log.on({3.2, 1, Promotion{.shard = 0, .epoch = 1, .version = 5}});
  log.on({4, 0, FaultChange{.kind = "crash", .begins = true, .target = 1}});
  REQUIRE(log.stats().recoveries.size() == 2);
  CHECK(!log.stats().recoveries[1].detected);
  notice(4.5, 1);
  CHECK(log.stats().recoveries[1].detected == 4.5);
}

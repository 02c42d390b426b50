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

// Goal: the books of failures tell true from false suspicions, and when a crash was made good. Method: the
// events of one crash, written down by hand.
#include "sim/record/failure_log.hpp"

#include "sim/scenario/spec/faults.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// Servers 1 and 2 own shards 0 and 1; server 1 has reached version 5 when it crashes at date 2.
FailureLog after_a_crash() {
  FailureLog log({0, 1}, 2);
  log.on({.at = 1, .kind = EventKind::update, .node = 1, .version = 5});
  log.on({.at = 2,
          .kind = EventKind::fault,
          .node = 1,
          .version = 1,
          .value = static_cast<std::int64_t>(FaultKind("crash").index())});
  return log;
}

}  // namespace

TEST_CASE("a suspicion is false when its node is up", "[record]") {
  FailureLog log = after_a_crash();
  log.on({.at = 2.5, .kind = EventKind::suspect, .peer = 1});
  CHECK(log.stats().suspicions == 1);
  CHECK(log.stats().false_suspicions == 0);
  log.on({.at = 2.6, .kind = EventKind::suspect, .peer = 2});
  CHECK(log.stats().false_suspicions == 1);
}

TEST_CASE("a crash is made good when its shards are as far as they were", "[record]") {
  FailureLog log = after_a_crash();
  log.on({.at = 3, .kind = EventKind::promote, .node = 2, .version = 3});
  log.on({.at = 3.5, .kind = EventKind::update, .node = 2, .version = 4});
  REQUIRE(log.stats().recoveries.size() == 1);
  CHECK(!log.stats().recoveries[0].caught_up);
  log.on({.at = 4, .kind = EventKind::update, .node = 2, .version = 5});
  CHECK(log.stats().recoveries[0].caught_up == 4.0);
}

TEST_CASE("an owner that has not heard of the next one does not own the shard again", "[record]") {
  FailureLog log = after_a_crash();
  log.on({.at = 3, .kind = EventKind::promote, .node = 2, .clock = 2, .version = 3});
  log.on({.at = 3.1, .kind = EventKind::promote, .node = 1, .clock = 1, .version = 5});
  log.on({.at = 4,
          .kind = EventKind::fault,
          .node = 1,
          .version = 1,
          .value = static_cast<std::int64_t>(FaultKind("crash").index())});
  CHECK(log.stats().recoveries.size() == 1);  // at date 4 it owned nothing
}

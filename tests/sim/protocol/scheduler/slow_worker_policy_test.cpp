// Goal: a slow worker is found once, and leaves only if that is asked for and another can take its place.
#include "sim/protocol/scheduler/slow_worker_policy.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// Workers 3 to 5; the last one is a spare.
SlowWorkerPolicy policy(SlowAction action, std::vector<NodeId> spares = {}) {
  return SlowWorkerPolicy({.first_worker = 3, .workers = 3, .window = 1, .action = action, .spares = spares});
}

}  // namespace

TEST_CASE("slow workers: a flagged one stays, a removed one is to leave", "[scheduler]") {
  for (const SlowAction action : {SlowAction::flag, SlowAction::remove}) {
    SlowWorkerPolicy slow = policy(action);
    CHECK_FALSE(slow.report(4, 1));
    const auto verdict = slow.report(3, 5);
    REQUIRE(verdict);
    CHECK(verdict->action == action);
    CHECK_FALSE(verdict->spare);
    CHECK(slow.is_unwanted(3) == (action == SlowAction::remove));
    CHECK_FALSE(slow.report(3, 5));  // it is known
  }
}

TEST_CASE("slow workers: each spare takes one place, and then slow workers stay", "[scheduler]") {
  SlowWorkerPolicy slow = policy(SlowAction::replace, {5});
  slow.report(4, 1);
  CHECK(slow.report(3, 5)->spare == 5);
  CHECK(slow.is_unwanted(3));
  slow.report(5, 0.1);
  const auto second = slow.report(4, 1);
  REQUIRE(second);
  CHECK(second->action == SlowAction::flag);
  CHECK_FALSE(second->spare);
  CHECK_FALSE(slow.is_unwanted(4));
}

TEST_CASE("slow workers: a spare that works already replaces nobody, itself included", "[scheduler]") {
  SlowWorkerPolicy slow = policy(SlowAction::replace, {5});
  CHECK_FALSE(slow.report(3, 1));
  CHECK_FALSE(slow.report(4, 1));
  const auto verdict = slow.report(5, 5);
  REQUIRE(verdict);
  CHECK(verdict->action == SlowAction::flag);
  CHECK_FALSE(verdict->spare);
}

TEST_CASE("slow workers: nothing of a worker's last life counts", "[scheduler]") {
  SlowWorkerPolicy slow = policy(SlowAction::remove);
  slow.report(4, 1);
  slow.report(3, 5);
  slow.begins_anew(3);
  CHECK_FALSE(slow.is_unwanted(3));
  CHECK_FALSE(slow.report(3, 1));
  CHECK(slow.report(3, 5));  // it is found again
  slow.forget(1);            // no worker
  slow.begins_anew(1);
}

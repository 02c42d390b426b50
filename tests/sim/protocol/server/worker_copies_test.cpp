// Goal: a worker that lacks this version gets another worker's copy, and first weights if nobody has one.
// Method: pulls and answers by hand.
#include "sim/protocol/server/pull_desk.hpp"

#include "tests/sim/protocol/server/one_shard.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;
using Found = WorkerCopies::Found;

TEST_CASE("copies: only a worker that neither has nor can make the version needs one", "[copies]") {
  OneShard shard({.model = "bsp"});
  const WorkerCopies on(true, 1), off(false, 1);
  CHECK_FALSE(on.needs({.copy = -1}, shard.state));  // version 0 is known to all
  shard.state.version = 3;
  CHECK_FALSE(on.needs({.copy = 3}, shard.state));
  CHECK(on.needs({.copy = 2}, shard.state));  // the last update's sum is not here
  CHECK_FALSE(off.needs({.copy = 2}, shard.state));
}

TEST_CASE("copies: workers are asked one after the other", "[copies]") {
  OneShard shard({.model = "bsp"}, 3);
  shard.state.version = 3;
  WorkerCopies copies(true, 1);
  WaitingPulls pulls;
  pulls.put(0, {.number = 1, .pushes_sent = 0, .copy = 1}, shard.state);  // it needs one itself
  CHECK(copies.find(pulls, shard.at(0)) == Found::not_yet);
  REQUIRE(shard.log.sent.size() == 1);
  CHECK(shard.log.sent.front().to == first_worker + 1);
  CHECK(shard.log.sent.front().as<Restore>()->entries == 2);
  CHECK(copies.next_turn() == 1.0);
  CHECK(copies.take(first_worker + 1, {.version = 1}, shard.at(0)));
  CHECK(copies.find(pulls, shard.at(0)) == Found::not_yet);
  REQUIRE(shard.log.sent.size() == 2);
  CHECK(shard.log.sent.back().to == first_worker + 2);
  SECTION("the second has it") {
    CHECK(copies.take(first_worker + 2, {.version = 3}, shard.at(0)));
    CHECK(copies.find(pulls, shard.at(0)) == Found::here);
  }
  SECTION("nobody has it") {
    CHECK(copies.take(first_worker + 2, {.version = 0}, shard.at(0)));
    CHECK(copies.find(pulls, shard.at(0)) == Found::first_weights);
    CHECK(copies.find(pulls, shard.at(0)) == Found::here);
  }
}

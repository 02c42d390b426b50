// Goal: pulls are answered when they are due, and never before what they show is safe. Method: pulls by hand.
#include "sim/protocol/server/pull_desk.hpp"

#include "tests/sim/protocol/server/one_shard.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

constexpr NodeId replica = 9;

PullDesk desk_without_copies() { return PullDesk(WorkerCopies(false, 1)); }

}  // namespace

TEST_CASE("desk: a pull is answered once its worker's push has arrived", "[pulls]") {
  OneShard shard({.model = "asp"});
  PullDesk desk = desk_without_copies();
  REQUIRE(desk.put(0, {.clock = 1, .number = 1, .pushes_sent = 1}, shard.state));
  desk.answer_all(shard.at());
  CHECK(shard.log.sent.empty());
  shard.push(0);
  desk.note_arrivals(0, shard.state);
  desk.answer_all(shard.at(3));
  REQUIRE(shard.log.sent.size() == 1);
  CHECK(last_answer(shard.log.sent).sent_at == 3);
  CHECK(desk.pulls().all().empty());
}

TEST_CASE("desk: an answer waits until the worker's push is safe", "[pulls]") {
  OneShard shard({.model = "asp"});
  shard.add_replica(replica);
  PullDesk desk = desk_without_copies();
  shard.push(0);
  REQUIRE(desk.put(0, {.clock = 1, .number = 1, .pushes_sent = 1}, shard.state));
  shard.replication.next_entry()->dropped.push_back({first_worker, 0});
  shard.replication.log_update(
      {}, shard.state, [] { return LogEntry::Sum{}; }, shard.log);
  shard.log.sent.clear();
  desk.answer_all(shard.at());
  CHECK(shard.log.sent.empty());
  CHECK(shard.replication.confirm(replica, 1, shard.state, 0, shard.log));
  desk.answer_all(shard.at());
  CHECK(shard.log.sent.size() == 1);
}

TEST_CASE("desk: a pull whose keys are not known counts as lost", "[pulls]") {
  OneShard shard({.model = "asp"});
  PullDesk desk = desk_without_copies();
  Pull pull{.number = 1, .pushes_sent = 0};
  pull.list = {.signature = 17, .bytes_listed = 8};
  CHECK_FALSE(desk.put(0, pull, shard.state));
  pull.list.bytes_listed = 0;
  CHECK(desk.put(0, pull, shard.state));
}

TEST_CASE("desk: a worker that has returned goes on from the pushes that are here", "[pulls]") {
  OneShard shard({.model = "asp"});
  PullDesk desk = desk_without_copies();
  shard.push(0, 0);
  const Pull pull{.number = 1, .pushes_sent = std::nullopt};
  REQUIRE(desk.put(0, pull, shard.state));
  desk.reconcile(0, pull, shard.at());
  CHECK(desk.pulls().find(0)->pushes_sent == 1);
}

// Goal: a copy applies what its owner logs, confirms it, and can lead from there. Method: messages by hand.
#include "sim/protocol/server/replication.hpp"

#include "tests/sim/protocol/server/one_shard.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

constexpr NodeId replica = 9, next_replica = 10;

SharedEntry members_entry(std::int64_t number) {
  LogEntry entry{.number = number};
  entry.members = {true, false};
  return std::make_shared<const LogEntry>(entry);
}

}  // namespace

TEST_CASE("replication: without copies nothing is logged", "[replication]") {
  OneShard shard({.model = "asp"});
  CHECK(shard.replication.next_entry() == nullptr);
  shard.push(0);
  shard.state.count_applied({first_worker, 0});
  CHECK(shard.replication.safe_pushes_of(0, shard.state) == 1);
  CHECK(shard.replication.may_answer(0));
}

TEST_CASE("replication: a new replica receives the whole state, and then entries", "[replication]") {
  OneShard shard({.model = "asp"}, 2, {.when = ReplicateWhen::every_push});
  shard.replication.set_copies({.primary = server_node, .replicas = {replica}}, shard.state, 0, shard.log);
  REQUIRE(shard.log.sent.size() == 1);
  CHECK(shard.log.sent.back().is<State>());
  CHECK(shard.replication.confirm(replica, 0, shard.state, 0, shard.log));
  CHECK_FALSE(shard.replication.confirm(next_replica, 0, shard.state, 0, shard.log));
  shard.replication.log_members({true, false}, shard.state, shard.log);
  REQUIRE(shard.log.sent.size() == 2);
  CHECK((shard.log.sent.back().as<Replicate>()->entry->members == std::vector{true, false}));
}

TEST_CASE("replication: a copy applies entries in their order, confirms them and passes them on",
          "[replication]") {
  OneShard shard({.model = "asp"}, 2, {.when = ReplicateWhen::every_push});
  shard.replication.follow(replica, 0, server_node, next_replica);
  CHECK_FALSE(shard.replication.leads());
  shard.replication.take(members_entry(0), shard.state, shard.log);
  REQUIRE(shard.log.sent.size() == 2);
  CHECK(shard.log.sent.front().to == next_replica);
  CHECK(shard.log.sent.back().to == server_node);
  CHECK(shard.log.sent.back().as<Replicated>()->entries == 1);
  CHECK(shard.state.workers[1].gone);
  CHECK(shard.replication.lead(replica, 1, shard.state));
  CHECK_FALSE(shard.replication.lead(replica, 1, shard.state));
}

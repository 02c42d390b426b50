// Goal: an update is made when it is complete, and its decisions are logged and told. Method: pushes by hand.
#include "sim/protocol/server/shard_server.hpp"

#include "tests/sim/protocol/server/one_shard.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

constexpr NodeId replica = 9;

}  // namespace

TEST_CASE("maker: an update is made of all pushes that it waits for", "[updates]") {
  OneShard shard({.model = "bsp"});
  const WaitingPulls pulls;
  const ShardContext context = shard.at();
  UpdateMaker maker(context, pulls);
  CHECK_FALSE(maker.take(shard.push(1)).is_dropped);
  CHECK_FALSE(maker.make_complete());
  maker.take(shard.push(0));
  CHECK(maker.make_complete());
  CHECK(shard.log.lines == Lines{"apply w0 s0", "apply w1 s0", "version 1"});
}

TEST_CASE("maker: a push that comes too late is dropped and logged as dropped", "[updates]") {
  OneShard shard({.model = "bsp"});
  shard.add_replica(replica);
  shard.state.version = 1;
  const WaitingPulls pulls;
  const ShardContext context = shard.at();
  CHECK(UpdateMaker(context, pulls).take(shard.push(0)).is_dropped);
  CHECK(shard.log.lines == Lines{"drop w0"});
  REQUIRE(shard.replication.next_entry() != nullptr);
  CHECK(shard.replication.next_entry()->dropped == std::vector<PushId>{{first_worker, 0}});
}

TEST_CASE("maker: another shard asks for a decision that does not come", "[updates]") {
  OneShard shard(ShardState::Options{.shard = 1,
                                     .shards = 2,
                                     .first_worker = first_worker,
                                     .rule = shared_rule({.model = "k-sync", .k = 1}, 2)},
                 {});
  const WaitingPulls pulls;
  const ShardContext context = shard.at(5);
  UpdateMaker maker(context, pulls);
  CHECK_FALSE(shard.state.updates.lacks_decision());
  maker.take(shard.push(0));
  CHECK(shard.state.updates.lacks_decision() == 0);
  CHECK_FALSE(maker.ask_for_decision(1));
  CHECK(shard.log.sent.empty());
  const ShardContext later = shard.at(6);
  CHECK_FALSE(UpdateMaker(later, pulls).ask_for_decision(1));
  REQUIRE(shard.log.sent.size() == 1);
  CHECK(shard.log.sent.front().is<Decide>());
  CHECK(UpdateMaker(later, pulls).follow({.version = 0, .pushes = {{first_worker, 0}}}));
  CHECK(shard.state.version == 1);
}

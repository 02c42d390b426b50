// Goal: pushes come out in their workers' order, each once and with its keys. Method: pushes by hand.
#include "sim/protocol/server/push_intake.hpp"

#include <memory>
#include <vector>

#include "tests/sim/protocol/server/one_shard.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

Push push_of(std::uint32_t worker, std::int64_t number) {
  return {.worker = first_worker + worker, .number = number};
}

}  // namespace

TEST_CASE("intake: an early push waits for those before it", "[pushes]") {
  OneShard shard({.model = "asp"});
  PushIntake intake(false);
  CHECK_FALSE(intake.is_next(push_of(0, 1), shard.at()));
  CHECK(intake.early().size() == 1);
  CHECK_FALSE(intake.take_early(0, shard.at()));
  CHECK(intake.is_next(push_of(0, 0), shard.at()));
  shard.push(0, 0);
  REQUIRE(intake.take_early(0, shard.at()).value().number == 1);
  CHECK(intake.early().empty());
}

TEST_CASE("intake: an early push that was skipped is refused", "[pushes]") {
  OneShard shard({.model = "asp"});
  PushIntake intake(false);
  intake.is_next(push_of(0, 1), shard.at());
  intake.is_next(push_of(0, 2), shard.at());
  CHECK(shard.at().skip_lost(0, 2));
  REQUIRE(intake.take_early(0, shard.at()).value().number == 2);
  CHECK_FALSE(shard.at().skip_lost(0, 2));
}

TEST_CASE("intake: a push that comes again is confirmed and does not count", "[pushes]") {
  OneShard shard({.model = "asp"});
  PushIntake intake(true);
  shard.push(1, 0);
  CHECK_FALSE(intake.is_next(push_of(1, 0), shard.at()));
  CHECK(shard.log.lines.back() == "duplicate w1");
  REQUIRE(shard.log.sent.size() == 1);
  CHECK(shard.log.sent.front().as<Ack>()->number == 0);
}

TEST_CASE("intake: a push whose keys are not known counts as lost", "[pushes]") {
  OneShard shard({.model = "asp"});
  PushIntake intake(false);
  Push push = push_of(0, 0);
  push.gradient.keys = std::make_shared<const std::vector<std::uint32_t>>(std::vector{1U, 3U});
  push.gradient.list = {.signature = 17, .bytes_listed = 8};
  CHECK_FALSE(intake.read(push, shard.at()));
  push.gradient.list.bytes_listed = 0;
  CHECK(intake.read(push, shard.at()));
  push.gradient.list.bytes_listed = 8;
  CHECK(intake.read(push, shard.at()).value().gradient.list.is_listed());
  intake.forget_keys();
  CHECK_FALSE(intake.read(push, shard.at()));
}

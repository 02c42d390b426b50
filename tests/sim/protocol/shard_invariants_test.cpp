// Goal: a shard that breaks an invariant is found with the next step. Method: a state with one mistake in it,
// and one more step of its server. All tests of servers, the scripts and the fuzzer check that no real step
// breaks an invariant.
#include "sim/protocol/server/shard_invariants.hpp"

#include <functional>
#include <memory>
#include <string>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

std::string said_of_step(const std::function<void()>& step) {
  try {
    step();
  } catch (const BrokenShard& broken) {
    return broken.what();
  }
  return {};
}

// What is said of a copy with this state when it becomes the owner; empty: nothing.
std::string said_of(const std::function<void(ShardState&)>& spoil) {
  Driver driver({.model = "bsp"}, 3);
  driver.pull_all();
  driver.push(0);
  driver.push(1);
  ShardState state = driver.server.state();
  spoil(state);
  const State sent{.entries = 0, .shard = std::make_shared<const ShardState>(state)};
  ShardServer server({.id = server_node,
                      .state = state.options,
                      .replication = {.when = ReplicateWhen::every_push},
                      .checked = true},
                     sent);
  return said_of_step([&] { server.lead(server_node, {.primary = server_node, .epoch = 1}, 0, driver.log); });
}

Push push_of(std::uint32_t worker, std::int64_t number, std::int64_t version = 0) {
  return {.worker = first_worker + worker, .number = number, .version = version};
}

}  // namespace

TEST_CASE("a shard that is not as it must be is found out", "[protocol]") {
  CHECK(said_of([](ShardState&) {}).empty());
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(said_of([](ShardState& s) { s.workers[2].applied = 1; }),
      "pushes of worker 2: 1 applied or dropped, but only 0");
  has(said_of([](ShardState& s) { s.workers[0].arrived = 2; }), "and 1 waiting, but 2 arrived");
  has(said_of([](ShardState& s) { s.updates.clear(); }), "and 0 waiting, but 1 arrived");
  has(said_of([](ShardState& s) {
        s.workers[2].arrived = 1;
        s.updates.add(push_of(2, 1), 0);
      }),
      "push 1 of worker 2 waits but has not arrived");
  has(said_of([](ShardState& s) {
        s.workers[0].arrived = 2;
        s.updates.add(push_of(0, 0), 0);
      }),
      "push 0 of worker 0 waits twice");
  has(said_of([](ShardState& s) {
        s.workers[0].arrived = 2;
        s.updates.add(push_of(0, 1), 0);
      }),
      "several pushes of worker 0 wait for one update");
  has(said_of([](ShardState& s) {
        s.workers[2].arrived = 1;
        s.updates.add(push_of(2, 0, 7), 0);
      }),
      "push 0 of worker 2 waits but is too late");
  has(said_of([](ShardState& s) { s.workers[2].gone = true; }),
      "the stored number of members is 3, but it is 2");
  has(said_of([](ShardState& s) { s.workers[2].finished = true; }),
      "the stored number of workers that will push is 3");
  has(said_of([](ShardState& s) {
        for (std::uint32_t w = 0; w < 3; ++w) s.workers[w].skipped_clocks = 2;
      }),
      "the stored slowest clock is 0, but it is 2");
}

TEST_CASE("a pull that waits for nothing is found out", "[protocol]") {
  Driver driver({.model = "bsp"}, 2);
  driver.pull_all();
  driver.turn(0);
  const auto said = [&] { return said_of_step([&] { ShardInvariants().check(driver.server); }); };
  CHECK(said().empty());
  const_cast<ShardState&>(driver.server.state()).version = 1;
  CHECK(said() == "shard 0 on node 1: pull 2 of worker 0 waits, but its answer is due");
}

TEST_CASE("a version never falls, and every update is made of a push", "[protocol]") {
  Driver driver({.model = "asp"}, 1);
  driver.turn(0);
  driver.turn(0);
  ShardInvariants invariants;
  invariants.check(driver.server);
  Driver fresh({.model = "asp"}, 1);
  CHECK_THROWS_AS(invariants.check(fresh.server), BrokenShard);
}

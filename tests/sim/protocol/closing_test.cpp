// Goal: an update is made on its date, of the pushes that are there, whatever shard and owner makes it.
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

Driver::Setup one_weight() { return {.weights = {0}, .learning_rate = {.base = 1}}; }
double moved(const Driver& d) { return -d.weights()[0]; }

}  // namespace

TEST_CASE("bsp with a window moves by the mean of those that are there, and drops the rest", "[closing]") {
  Driver d({.model = "bsp", .late = Late::drop, .window = Seconds{2}}, 3, one_weight());
  d.pull_all();
  d.now = 5;
  d.push(0, {2});
  CHECK(d.server.closes_at(d.now) == 7.0);
  d.now = 6;
  d.push(1, {4});
  d.pull(0);
  d.pull(1);
  CHECK(d.close() == Lines{"apply w0 s0", "apply w1 s0", "version 1", "weights w0 v1", "weights w1 v1"});
  CHECK(moved(d) == 3);
  d.now = 8;
  CHECK(d.push(2, {9}).front() == "drop w2");
  CHECK(moved(d) == 3);
  CHECK(d.pull(2) == Lines{"weights w2 v1"});
}

TEST_CASE("a deadline counts from the last update", "[closing]") {
  Driver d({.model = "k-sync", .k = 3, .deadline = Seconds{4}}, 3, one_weight());
  d.now = 1;
  d.pull_all();
  d.now = 2;
  d.push(0, {1});
  CHECK(d.server.closes_at(d.now) == 5.0);
  d.close();
  CHECK(d.server.version() == 1);
  d.pull_all();
  d.now = 30;  // long over, and nobody is there
  CHECK_FALSE(d.server.closes_at(d.now));
  d.push(1, {1});
  CHECK(d.server.version() == 2);
}

TEST_CASE("after a warm-up pushes come before pulls, which do not move the first update's date",
          "[closing]") {
  const bool by_window = GENERATE(false, true);
  ConsistencySpec spec{.model = "k-async", .k = 3};
  (by_window ? spec.window : spec.deadline) = Seconds{4};
  Driver d(spec, 3, one_weight());
  d.now = 1;
  d.push(0, {1});
  CHECK(d.server.closes_at(d.now) == 5.0);
  d.now = 2;
  d.pull(0);
  CHECK(d.server.closes_at(d.now) == 5.0);
  d.push(1, {1});
  CHECK(d.server.closes_at(d.now) == 5.0);
  d.close();
  CHECK(d.server.version() == 1);
}

TEST_CASE("late = next keeps a late push for the next update, and its worker waits for it", "[closing]") {
  Driver d({.model = "bsp", .late = Late::next, .window = Seconds{1}}, 3, one_weight());
  d.pull_all();
  d.push(0, {3});
  d.pull(0);
  CHECK(d.close() == Lines{"apply w0 s0", "version 1", "weights w0 v1"});
  CHECK(moved(d) == 1);  // each gradient counts for a third, as in a clock of all
  d.now = 2;
  d.push(1, {6});
  CHECK(d.pull(1).empty());
  CHECK(d.close() == Lines{"apply w1 s1", "version 2", "weights w1 v2"});
  CHECK(moved(d) == 3);
}

TEST_CASE("where only fresh pushes count nothing closes after the last version", "[closing]") {
  Driver::Setup setup = one_weight();
  setup.steps = 1;
  Driver d({.model = "bsp", .late = Late::drop, .window = Seconds{1}}, 2, setup);
  d.pull_all();
  d.push(0, {1});
  d.close();
  REQUIRE(d.server.version() == 1);
  CHECK(d.push(1, {1}).front() == "drop w1");
  CHECK_FALSE(d.server.closes_at(d.now));
}

TEST_CASE("a new owner counts from when it takes over, with the pushes that came with the shard",
          "[closing]") {
  Driver d({.model = "bsp", .window = Seconds{3}}, 3, one_weight());
  d.pull_all();
  d.now = 1;
  d.push(0, {1});
  State state = d.server.whole_state();
  auto with_pushes = std::make_shared<ShardState>(d.server.state());
  state.shard = with_pushes;
  ShardServer next(
      {.id = 7, .state = d.server.state().options, .replication = {.when = ReplicateWhen::every_push}},
      state);
  Mail mail;
  next.lead(7, {.primary = 7, .epoch = 1}, 50, mail);
  REQUIRE(next.pending().size() == 1);
  CHECK(next.closes_at(50) == 53.0);
  next.close(53, mail);
  CHECK(next.version() == 1);
}

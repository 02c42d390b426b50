// Goal: an update stays open for its grace after its condition has become true, and no longer than it must.
#include <array>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

Driver::Setup one_weight() { return {.weights = {0}, .learning_rate = {.base = 1}}; }
double moved(const Driver& d) { return -d.weights()[0]; }
const ConsistencySpec two_of_four{.model = "k-sync", .k = 2, .late = Late::drop, .grace = Seconds{3}};

}  // namespace

TEST_CASE("a grace counts from the push that completes the group", "[closing][grace]") {
  Driver d(two_of_four, 4, one_weight());
  d.pull_all();
  d.now = 5;
  d.push(0, {2});
  CHECK_FALSE(d.server.closes_at(d.now));
  d.now = 7;
  CHECK(d.push(1, {4}).empty());
  CHECK(d.server.closes_at(d.now) == 10.0);
  d.now = 9;
  d.push(2, {6});
  CHECK(d.server.closes_at(d.now) == 10.0);
  CHECK(d.close() == Lines{"apply w0 s0", "apply w1 s0", "apply w2 s0", "version 1"});
  CHECK(moved(d) == 4);
  d.now = 11;
  CHECK(d.push(3, {9}).front() == "drop w3");
}

TEST_CASE("a grace ends when all workers that take part have pushed", "[closing][grace]") {
  Driver d(two_of_four, 4, one_weight());
  d.pull_all();
  d.now = 1;
  for (const std::uint32_t w : {0U, 1U, 2U}) d.push(w, {1});
  SECTION("the last push comes") {
    d.push(3, {1});
    CHECK(d.server.version() == 1);
  }
  SECTION("the last worker leaves") {
    d.server.set_members({true, true, true, false}, d.now, d.log);
    CHECK(d.server.version() == 1);
  }
}

TEST_CASE("a window or a deadline ends a grace", "[closing][grace]") {
  ConsistencySpec spec = two_of_four;
  SECTION("window") { spec.window = Seconds{2}; }
  SECTION("deadline") { spec.deadline = Seconds{3}; }
  Driver d(spec, 4, one_weight());
  d.pull_all();
  d.now = 1;
  d.push(0, {1});
  d.now = 2;
  d.push(1, {1});
  CHECK(d.server.closes_at(d.now) == 3.0);
}

TEST_CASE("an expression that was true once makes the update after the grace", "[closing][grace]") {
  ConsistencySpec spec{.model = "custom", .k = 2, .grace = Seconds{3}};
  spec.custom = {.start = "applied >= pushed", .update = "pushes == k"};
  Driver d(spec, 4, one_weight());
  d.pull_all();
  for (const std::uint32_t w : {0U, 1U, 2U}) d.push(w, {1});
  CHECK(d.server.closes_at(d.now) == 3.0);
  d.close();
  CHECK(d.server.version() == 1);
  CHECK(d.server.pending().empty());
}

TEST_CASE("a new owner begins the grace anew", "[closing][grace]") {
  Driver d(two_of_four, 4, one_weight());
  d.pull_all();
  d.now = 1;
  d.push(0, {1});
  d.push(1, {1});
  State state = d.server.whole_state();
  state.shard = std::make_shared<ShardState>(d.server.state());
  ShardServer next({.id = 7, .state = d.server.state().options}, state);
  Mail mail;
  next.lead(7, {.primary = 7, .epoch = 1}, 50, mail);
  CHECK_FALSE(next.closes_at(50));
  Message pull = d.pull_of(0);
  pull.epoch = 1;
  next.on(pull, 51, mail);
  CHECK(next.closes_at(51) == 54.0);
  next.close(54, mail);
  CHECK(next.version() == 1);
}

TEST_CASE("an adaptive deadline is the median arrival and some deviations", "[closing][deadline]") {
  Driver d({.model = "bsp", .late = Late::drop, .deadline_mad = 2}, 3, one_weight());
  d.pull_all();
  const auto clock = [&d](const std::array<double, 3>& after) {
    const double begin = d.now;
    for (std::uint32_t w = 0; w < after.size(); ++w) {
      d.now = begin + after[w];
      d.push(w, {1});
    }
    for (std::uint32_t w = 0; w < after.size(); ++w) d.pull(w);
  };
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(d.server.closes_at(d.now));
    clock({8, 10, 14});
  }
  // Of 8, 10, 14, three times each: the median is 10, and the deviations are 2, 0 and 4.
  const double begin = d.now;
  d.now = begin + 1;
  d.push(0, {1});
  CHECK(d.server.closes_at(d.now) == begin + 10 + 2 * 2);
  d.close();
  CHECK(d.server.version() == 4);
}

TEST_CASE("an adaptive deadline forgets all but the last ten updates, and copies have it",
          "[closing][deadline]") {
  Driver d({.model = "bsp", .late = Late::drop, .deadline_mad = 1}, 2, one_weight());
  d.pull_all();
  for (int i = 0; i < 20; ++i) {
    d.now += i < 10 ? 100 : 4;
    d.push(0, {1});
    d.push(1, {1});
    d.pull_all();
  }
  const ShardState copy = d.server.state();
  d.push(0, {1});
  CHECK(d.server.closes_at(d.now) == d.now + 4);
  CHECK(copy.memory == d.server.state().memory);
}

TEST_CASE("a weight by samples and seconds is the whole weight of a push", "[custom]") {
  ConsistencySpec spec{.model = "custom", .k = 2};
  spec.custom = {.start = "version > computed_on", .update = "pushes >= k", .too_late = "age > 0"};
  const auto moved_by = [&spec](const std::string& weight, std::int64_t samples) {
    spec.custom.weight = weight;
    Driver d(spec, 2, one_weight());
    d.pull_all();
    for (const std::uint32_t w : {0U, 1U}) {
      Message message = d.push_of(w, {w == 0 ? 3.0 : 6.0});
      Push& push = std::get<Push>(message.body);
      push.samples = w == 0 ? samples : 2 * samples;
      push.batches = w == 0 ? 1 : 2;
      push.seconds = w == 0 ? 1 : 8;
      d.deliver(message);
    }
    return moved(d);
  };
  CHECK(moved_by("1", 5) == (3 * 1 + 6 * 2) / 3.0);
  CHECK(moved_by("samples / batches", 5) == moved_by("1", 5));
  CHECK(moved_by("1 / seconds", 5) == Approx((3 * 8 + 6 * 1) / 9.0));
  CHECK(moved_by("samples * samples / batches", 5) == Approx((3 * 1 + 6 * 8) / 9.0));
  CHECK_THROWS_WITH(moved_by("samples - 7", 5),
                    "consistency.weight: `samples - 7` is -2, but a weight is a number from 0: samples = 5");
}

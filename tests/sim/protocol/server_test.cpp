// Goal: every row of the table of consistency models, as rules about messages. Method: a server is driven as
// a cluster would drive it, in microseconds and without SimGrid.

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

TEST_CASE("every worker may start its first clock at once, under every model", "[protocol]") {
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    if (row.group == Group::own) continue;  // of other tests
    Driver d({.model = row.name, .k = 2}, 3);
    for (std::uint32_t w = 0; w < 3; ++w) CHECK(d.pull(w) == Lines{fmt::format("weights w{} v0", w)});
    CHECK(d.server.waiting().empty());
  }
}

TEST_CASE("bsp answers a pull only when every worker's push of the clock before is in", "[protocol]") {
  Driver d({.model = "bsp"}, 3);
  d.pull_all();
  CHECK(d.turn(2) == Lines{});
  CHECK(d.turn(0) == Lines{});
  CHECK(d.server.pending().size() == 2);
  CHECK(d.server.waiting().size() == 2);
  CHECK(d.push(1) ==
        Lines{"apply w0 s0", "apply w1 s0", "apply w2 s0", "version 1", "weights w0 v1", "weights w2 v1"});
  CHECK(d.pull(1) == Lines{"weights w1 v1"});
  CHECK(d.server.pending().empty());
  CHECK(d.server.waiting().empty());
  CHECK(d.turn(1) == Lines{});  // and so on with the next clock
}

TEST_CASE("the bound of ssp follows its schedule", "[protocol]") {
  Driver d({.model = "ssp", .staleness = 1, .staleness_schedule = {{2, 3}, {5, 0}}}, 2);
  d.pull_all();
  const auto starts = [&](std::uint32_t w) {
    return d.turn(w).back().starts_with(fmt::format("weights w{}", w));
  };
  for (int clock = 1; clock <= 3; ++clock) CHECK(starts(0));  // clocks 2 and 3 are two and three ahead
  CHECK(!starts(0));                                          // clock 4: four ahead
  CHECK(starts(1));
  CHECK(!starts(0));  // clock 5: no longer ahead of anybody
  for (int clock = 2; clock <= 4; ++clock) CHECK(starts(1));
  CHECK(d.push(1) == Lines{"apply w1 s0", "version 10", "weights w0 v10"});
}

TEST_CASE("ssp 0 is bsp", "[protocol]") {
  const ConsistencyRule zero = make_rule({.model = "ssp", .staleness = 0}, 3);
  CHECK(zero.gate == Gate::version);
  CHECK(zero.group == 3);
  CHECK(zero.drops_stale);
  Driver ssp({.model = "ssp", .staleness = 0}, 3), bsp({.model = "bsp"}, 3);
  for (const std::uint32_t w : {0U, 1U, 2U}) CHECK(ssp.pull(w) == bsp.pull(w));
  for (const std::uint32_t w : {2U, 0U, 1U, 1U, 0U, 2U}) CHECK(ssp.turn(w) == bsp.turn(w));
  CHECK(ssp.server.version() == 2);
}

TEST_CASE("asp never makes anybody wait", "[protocol]") {
  Driver d({.model = "asp"}, 3);
  d.pull_all();
  for (int clock = 1; clock <= 50; ++clock) {
    CHECK(d.turn(0) ==
          Lines{"apply w0 s0", fmt::format("version {}", clock), fmt::format("weights w0 v{}", clock)});
  }
  CHECK(d.turn(1) == Lines{"apply w1 s50", "version 51", "weights w1 v51"});
}

TEST_CASE("k-sync updates with the first k workers and drops the late ones", "[protocol]") {
  Driver d({.model = "k-sync", .k = 2, .late = Late::drop}, 3);
  d.pull_all();
  CHECK(d.turn(2) == Lines{});
  CHECK(d.push(1) == Lines{"apply w1 s0", "apply w2 s0", "version 1", "weights w2 v1"});
  CHECK(d.server.state().workers.slowest() == 0);
  CHECK(d.push(0) == Lines{"drop w0"});
  CHECK(d.server.state().workers.slowest() == 1);  // its clock is over, though nothing of it was used
  CHECK(d.pull(0) == Lines{"weights w0 v1"});
  CHECK(d.server.version() == 1);
  CHECK(d.server.pending().empty());
  CHECK(d.pull(1) == Lines{"weights w1 v1"});
  // A dropped push is not remembered: the next update needs two fresh ones.
  CHECK(d.turn(0) == Lines{});
  CHECK(d.push(2) == Lines{"apply w0 s0", "apply w2 s0", "version 2", "weights w0 v2"});
}

TEST_CASE("k-sync tells a worker that computes of the newer version when it asked ahead", "[protocol]") {
  Driver d({.model = "k-sync", .k = 1, .late = Late::cancel}, 2);
  CHECK(d.rule.cancel);
  d.pull_all();
  CHECK(d.pull(0) == Lines{});  // sent when the computation begins
  CHECK(d.pull(1) == Lines{});
  CHECK(d.push(1) == Lines{"apply w1 s0", "version 1", "weights w0 v1", "weights w1 v1"});
}

TEST_CASE("k-batch-sync counts a fast worker twice", "[protocol]") {
  Driver d({.model = "k-batch-sync", .k = 3, .late = Late::drop}, 2);
  d.pull_all();
  CHECK(d.turn(0) == Lines{"weights w0 v0"});
  CHECK(d.turn(0) == Lines{"weights w0 v0"});
  CHECK(d.turn(0) == Lines{"apply w0 s0", "apply w0 s0", "apply w0 s0", "version 1", "weights w0 v1"});
  CHECK(d.turn(1) == Lines{"drop w1", "weights w1 v1"});
  CHECK(d.server.version() == 1);
}

TEST_CASE("k-async makes a worker wait for its own push, and applies late ones", "[protocol]") {
  Driver d({.model = "k-async", .k = 2}, 4);
  d.pull_all();
  CHECK(d.turn(0) == Lines{});
  CHECK(d.turn(3) == Lines{"apply w0 s0", "apply w3 s0", "version 1", "weights w0 v1", "weights w3 v1"});
  CHECK(d.turn(2) == Lines{});
  CHECK(d.turn(0) == Lines{"apply w0 s0", "apply w2 s1", "version 2", "weights w2 v2", "weights w0 v2"});
  CHECK(d.turn(1) == Lines{});
  CHECK(d.turn(0) == Lines{"apply w0 s0", "apply w1 s2", "version 3", "weights w1 v3", "weights w0 v3"});
}

TEST_CASE("k-batch-async makes nobody wait and updates with any k pushes", "[protocol]") {
  Driver d({.model = "k-batch-async", .k = 2}, 3);
  d.pull_all();
  CHECK(d.turn(0) == Lines{"weights w0 v0"});
  CHECK(d.turn(0) == Lines{"apply w0 s0", "apply w0 s0", "version 1", "weights w0 v1"});
  CHECK(d.turn(2) == Lines{"weights w2 v1"});
  CHECK(d.turn(1) == Lines{"apply w1 s1", "apply w2 s1", "version 2", "weights w1 v2"});
}

TEST_CASE("no pull is answered before the worker's own pushes are in, under any model", "[protocol]") {
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    if (row.group == Group::own) continue;  // of other tests
    if (row.has_tasks()) continue;          // a push waits for a task
    // One worker, one push an update: nothing else could make it wait.
    Driver d({.model = row.name, .k = 1}, 1);
    CAPTURE(row.name);
    d.pull(0);
    const Message push = d.push_of(0);
    CHECK(d.pull(0) == Lines{});  // overtakes the push
    CHECK(d.deliver(push) == Lines{"apply w0 s0", "version 1", "weights w0 v1"});
  }
}

TEST_CASE("an answer says which pull it belongs to", "[protocol]") {
  Driver d({.model = "asp"}, 2);
  d.pull(0);
  d.pull(1);
  d.turn(1);
  Message pull = d.pull_of(0);
  pull.as<Pull>()->number = 77;
  pull.as<Pull>()->clock = 5;
  d.deliver(pull);
  const Answer& answer = last_answer(d.log.sent);
  CHECK(answer.number == 77);
  CHECK(answer.clock == 5);
  CHECK(answer.version == 1);
  CHECK(d.log.sent.back().from == server_node);
  CHECK(d.log.sent.back().to == first_worker);
  CHECK(answer.weights.values.count == 4);
}

TEST_CASE("a newer pull takes the place of an older one that waits", "[protocol]") {
  Driver d({.model = "k-batch-sync", .k = 2, .late = Late::cancel}, 2);
  d.pull_all();
  Message ahead = d.pull_of(0);  // a computation begins: tell me when there is a newer version
  ahead.as<Pull>()->above = 0;
  CHECK(d.deliver(ahead) == Lines{});
  CHECK(d.turn(0) == Lines{"weights w0 v0"});  // pushed after all: the next pull takes any version
  CHECK(last_answer(d.log.sent).number == 3);
  CHECK(d.push(1) == Lines{"apply w0 s0", "apply w1 s0", "version 1"});  // the old pull is not answered
}

TEST_CASE("messages that are no server's business change nothing", "[protocol]") {
  Driver d({.model = "asp"}, 1);
  for (const Body& body : std::vector<Body>{Join{}, Start{}, Answer{}, Answer{.finished = true}, Leave{}})
    CHECK(d.deliver(from_worker(0, body)) == Lines{});
  CHECK(d.server.version() == 0);
  CHECK(d.arrived() == 0);
}

TEST_CASE("who only reads is answered at once, under every model, and changes nothing", "[protocol]") {
  const auto deliver = [](Driver& d, NodeId from, std::int64_t number) {
    const std::size_t before = d.log.sent.size();
    d.server.on({.from = from, .to = server_node, .body = Pull{.above = 0, .number = number}}, 7.5, d.log);
    REQUIRE(d.log.sent.size() == before + 1);
    return d.log.sent.back();
  };
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    if (row.group == Group::own) continue;  // of other tests
    if (row.has_tasks()) continue;          // no push changes anything by itself
    INFO(row.name);
    Driver d({.model = row.name, .staleness = 1, .k = 2}, 3,
             {.weights = {1, 2}, .learning_rate = {.base = 1}});
    Driver alone({.model = row.name, .staleness = 1, .k = 2}, 3,
                 {.weights = {1, 2}, .learning_rate = {.base = 1}});
    for (std::int64_t turn = 0; turn < 4; ++turn) {
      for (std::uint32_t w = 0; w < 3; ++w) {
        const Message answer = deliver(d, first_worker + 3 + w, turn);
        CHECK(kind_of(answer) == MessageKind::weights);
        CHECK(answer.to == first_worker + 3 + w);
        const Answer& read = std::get<Answer>(answer.body);
        CHECK(read.number == turn);
        CHECK(read.version == d.server.version());
        CHECK(read.sent_at == 7.5);
        CHECK(numbers_of(read.weights.values) == d.weights());
        CHECK(d.turn(w, {0.5, 1}) == alone.turn(w, {0.5, 1}));
      }
    }
    CHECK(d.server.version() > 0);
    CHECK(d.weights() == alone.weights());
  }
}

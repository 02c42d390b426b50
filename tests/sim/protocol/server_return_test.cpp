// A worker that joins late or comes back goes on from where the others are, and none of its pushes is taken
// for one that was here.
#include <algorithm>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Two workers under ssp with s = 1; nodes may fail.
struct Pair {
  Pair()
      : server({.id = server_node,
                .state = {.first_worker = first_worker,
                          .rule = test::shared_rule({.model = "ssp", .staleness = 1}, 2),
                          .steps = 100},
                .confirms = true},
               std::nullopt, 4) {}

  void members(bool first, bool second) { server.set_members({first, second}, 0, log); }
  void push(std::uint32_t w, std::int64_t number, std::int64_t ahead = 0) {
    server.on(from_worker(w, Push{.worker = first_worker + w,
                                  .number = number,
                                  .clock = number + ahead,
                                  .oldest_resendable = number}),
              0, log);
  }
  // What the worker is told to skip; -1: the server does not answer.
  std::int64_t pull(std::uint32_t w, std::int64_t pushed, std::int64_t ahead = 0, std::int64_t kept = 100) {
    const std::size_t before = log.sent.size();
    server.on(from_worker(w, Pull{.clock = pushed + ahead,
                                  .number = ++pulls,
                                  .pushes_sent = pushed,
                                  .oldest_resendable = std::min(kept, pushed),
                                  .skipped_clocks = ahead}),
              0, log);
    return log.sent.size() == before ? -1 : last_answer(log.sent).skip_clocks;
  }
  void alone(std::int64_t from, std::int64_t to) {
    for (std::int64_t number = from; number < to; ++number) push(0, number);
  }

  ShardServer server;
  Log log;
  std::int64_t pulls = 0;
};

}  // namespace

TEST_CASE("a worker that joins is told to skip what the others have done, as often as it asks", "[server]") {
  Pair p;
  p.members(true, false);
  p.alone(0, 10);
  p.members(true, true);
  CHECK(p.pull(1, 0) == 10);
  CHECK(p.pull(1, 0) == 10);  // the answer was lost
  p.push(0, 10);
  CHECK(p.pull(0, 11) == 0);  // nobody waits for it yet
  CHECK(p.pull(1, 0) == 11);
  CHECK(p.pull(1, 0, 10) == 11);  // it has heard the first answer only
  CHECK(p.pull(1, 0, 11) == 11);
  CHECK(p.server.state().workers.slowest() == 11);
  p.push(0, 11);
  p.push(0, 12);
  CHECK(p.pull(0, 13) == -1);     // now somebody does
  CHECK(p.pull(1, 0, 10) == 11);  // a pull that was long on its way takes nothing back
  p.push(1, 0, 11);
  CHECK(p.server.state().workers.slowest() == 12);
  CHECK(p.log.applied_of == std::vector<std::int64_t>{13, 1});
  CHECK(p.log.dropped_count == 0);
}

TEST_CASE("pushes from before a worker was away still count when it is back", "[server]") {
  Pair p;
  p.push(1, 0);
  p.members(true, false);
  p.alone(0, 5);
  p.push(1, 1);  // while it takes no part: it will come again
  CHECK(p.log.applied_of == std::vector<std::int64_t>{5, 1});
  p.members(true, true);
  CHECK(p.pull(1, 2, 0, 1) == -1);  // its push is not here yet
  p.push(1, 1);
  CHECK(last_answer(p.log.sent).skip_clocks == 3);  // to clock 5 with two pushes
  CHECK(p.log.applied_of == std::vector<std::int64_t>{5, 2});
  CHECK(p.pull(1, 2, 3) == 3);
  CHECK(p.server.state().workers.slowest() == 5);
  p.push(1, 2, 3);
  CHECK(p.log.applied_of == std::vector<std::int64_t>{5, 3});
}

TEST_CASE("a worker that is not behind when it comes back skips nothing", "[server]") {
  Pair p;
  p.push(1, 0);
  p.push(1, 1);
  p.members(true, false);
  p.alone(0, 2);
  p.members(true, true);
  CHECK(p.pull(1, 2) == 0);
  CHECK(p.server.state().workers.slowest() == 2);
}

TEST_CASE("an answer says whether a push of the worker waits for the next update", "[server]") {
  ShardServer server(
      {.id = server_node,
       .state = {.first_worker = first_worker, .rule = test::shared_rule({.model = "bsp"}, 2), .steps = 100},
       .confirms = true},
      std::nullopt, 4);
  Log log;
  const auto push = [&](std::uint32_t w) {
    server.on(from_worker(w, Push{.worker = first_worker + w}), 0, log);
  };
  const auto ask = [&](std::uint32_t w, std::int64_t above) {
    const Pull pull{.clock = above + 1, .above = above, .number = 1, .pushes_sent = 1};
    server.on(from_worker(w, pull), 0, log);
    return last_answer(log.sent);
  };
  push(0);
  CHECK(ask(0, -1).has_push);                 // any version: this one, for which its push is here
  server.set_members({true, false}, 0, log);  // the update is made without the other one
  server.set_members({true, true}, 0, log);
  push(1);  // too late
  const Answer answer = ask(1, 0);
  CHECK(answer.version == 1);
  CHECK(!answer.has_push);
}

TEST_CASE("a push for a decision of the first shard that was made before comes too late", "[server]") {
  ShardServer follower({.id = server_node,
                        .state = {.shard = 1,
                                  .shards = 2,
                                  .first_worker = first_worker,
                                  .rule = test::shared_rule({.model = "k-sync", .k = 1}, 2),
                                  .steps = 100},
                        .confirms = true},
                       std::nullopt, 4);
  Log log;
  const auto push = [&](std::uint32_t w, std::int64_t version) {
    follower.on(from_worker(w, Push{.worker = first_worker + w, .version = version}), 0, log);
  };
  push(0, 0);
  follower.on(Message{.body = UpdateGroup{.pushes = {{first_worker, 0}}}}, 0, log);
  REQUIRE(follower.version() == 1);
  push(1, 1);  // the first shard was set back, and is at version 0 once more
  CHECK(follower.pending().empty());
  CHECK(log.lines.back() == "ack w1 v0");
  CHECK(log.dropped_count == 1);
}

TEST_CASE("a push that came early, and was given up meanwhile, is not taken", "[server]") {
  Pair p;
  const auto push = [&](std::int64_t number, std::int64_t oldest) {
    const Push sent{.worker = first_worker, .number = number, .clock = number, .oldest_resendable = oldest};
    p.server.on(from_worker(0, sent), 0, p.log);
  };
  push(2, 0);
  CHECK(p.server.early().size() == 1);
  push(3, 3);
  CHECK(p.server.early().empty());
  CHECK(p.log.applied_count == 1);
}

TEST_CASE("the early pushes of a worker that goes are sent again when it is back", "[server]") {
  Pair p;
  const Push early{.worker = first_worker, .number = 1, .clock = 1};
  p.server.on(from_worker(0, early), 0, p.log);
  p.members(false, true);
  CHECK(p.server.early().empty());
  p.members(true, true);
  p.server.on(from_worker(0, Push{.worker = first_worker}), 0, p.log);
  CHECK(p.log.applied_count == 1);
  p.server.on(from_worker(0, early), 0, p.log);
  CHECK(p.log.applied_count == 2);
}

TEST_CASE("when no worker has a copy any more all that wait for one go on with first weights", "[server]") {
  ShardServer server({.id = server_node,
                      .state = {.shards = 2,
                                .first_worker = first_worker,
                                .rule = test::shared_rule({.model = "bsp"}, 2),
                                .steps = 100,
                                .weights = {.sum_only = true}},
                      .confirms = true,
                      .resend = {.timeout = 1},
                      .checked = true},
                     std::nullopt, 4);
  Log log;
  for (const std::uint32_t w : {0U, 1U}) server.on(from_worker(w, Push{.worker = first_worker + w}), 0, log);
  REQUIRE(server.version() == 1);
  log.lines.clear();
  // Both come back from a crash. The second is asked for its copy, and asks for one before it has answered.
  for (const std::uint32_t w : {0U, 1U})
    server.on(from_worker(w, Pull{.number = 1, .pushes_sent = std::nullopt}), 0.1, log);
  CHECK(log.lines == Lines{"restore w1 v0", "weights w0 v1", "weights w1 v1"});
  CHECK(server.waiting().empty());
}

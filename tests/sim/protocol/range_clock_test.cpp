// Goal: a vector clock for each range says of every key what a vector clock of its own would say, with no
// more clocks than the ranges that were set ask for; and a server takes each push once.
#include "sim/protocol/server/shard_state.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

constexpr std::size_t keys = 24, workers = 3;

// A clock for each key and worker.
struct KeyClocks {
  std::vector<std::vector<std::int64_t>> of =
      std::vector<std::vector<std::int64_t>>(keys, std::vector<std::int64_t>(workers));

  void set(Range range, std::size_t worker, std::int64_t clock) {
    for (std::size_t k = range.begin; k < range.begin + range.count; ++k)
      of[k][worker] = std::max(of[k][worker], clock);
  }
  std::int64_t least(Range range, std::size_t worker) const {
    std::int64_t result = of[range.begin][worker];
    for (std::size_t k = range.begin; k < range.begin + range.count; ++k)
      result = std::min(result, of[k][worker]);
    return result;
  }
  // Neighbouring keys with the same clocks are one range.
  std::size_t ranges() const {
    std::size_t count = 1;
    for (std::size_t k = 1; k < keys; ++k) count += of[k] != of[k - 1] ? 1 : 0;
    return count;
  }
};

Range any_range(std::size_t least_count) {
  const auto begin = *rc::gen::inRange<std::size_t>(0, keys);
  return {begin, *rc::gen::inRange<std::size_t>(least_count, keys - begin + 1)};
}

}  // namespace

TEST_CASE("ranges say what a clock for each key would say", "[protocol]") {
  const bool holds = rc::check("random sets and questions", [] {
    RangeClock clock(keys, workers);
    KeyClocks naive;
    std::set<std::size_t> ends;  // of the ranges set
    for (int i = *rc::gen::inRange(1, 40); i > 0; --i) {
      const Range range = any_range(0);
      const auto worker = *rc::gen::inRange<std::size_t>(0, workers);
      const auto time = *rc::gen::inRange<std::int64_t>(1, 6);
      const std::size_t before = clock.ranges();
      const std::size_t split_off = clock.set(range, worker, time);
      naive.set(range, worker, time);
      ends.insert({range.begin, range.begin + range.count});
      RC_ASSERT(split_off <= 2U);  // one range becomes at most three
      RC_ASSERT(clock.ranges() <= before + split_off);
      RC_ASSERT(clock.ranges() == naive.ranges());
      RC_ASSERT(clock.ranges() <= ends.size() + 1);
      const Range asked = any_range(1);
      for (std::size_t w = 0; w < workers; ++w) {
        const std::int64_t least = naive.least(asked, w);
        RC_ASSERT(clock.least(asked, w) == least);
        RC_ASSERT(clock.is_new(asked, w, least + 1));
        RC_ASSERT(!clock.is_new(asked, w, least));
      }
      RC_ASSERT(!clock.is_new({asked.begin, 0}, 0, 100));
    }
  });
  CHECK(holds);
}

TEST_CASE("a set splits the ranges at its ends, and equal neighbours are one again", "[protocol]") {
  RangeClock clock(10, 2);
  CHECK(clock.set({0, 10}, 0, 1) == 0);
  CHECK(clock.ranges() == 1);
  CHECK(clock.set({3, 4}, 0, 2) == 2);  // 0-3, 3-7, 7-10
  CHECK(clock.ranges() == 3);
  CHECK(clock.set({5, 3}, 1, 1) == 2);  // 0-3, 3-5, 5-7, 7-8, 8-10
  CHECK(clock.ranges() == 5);
  CHECK(clock.set({3, 5}, 1, 1) == 0);  // 3-7 again
  CHECK(clock.ranges() == 4);
  CHECK(clock.set({2, 6}, 0, 1) == 0);  // nothing new
  CHECK(clock.set({0, 10}, 0, 3) == 0);
  CHECK(clock.set({0, 10}, 1, 3) == 0);
  CHECK(clock.ranges() == 1);
}

TEST_CASE("a push that comes twice counts once", "[protocol]") {
  Driver driver({.model = "asp"}, 2, {.weights = {1, 1}, .learning_rate = {.base = 0.5}});
  const Message first = driver.push_of(0, {1, 2}), second = driver.push_of(0, {1, 2});
  CHECK(driver.deliver(first) == Lines{"apply w0 s1", "version 1"});
  const Numbers once = driver.weights();
  CHECK(driver.deliver(first) == Lines{"duplicate w0"});
  CHECK(driver.weights() == once);
  CHECK(driver.arrived() == 1);
  CHECK(driver.deliver(second) == Lines{"apply w0 s2", "version 2"});
  CHECK(driver.deliver(first) == Lines{"duplicate w0"});
  CHECK(driver.deliver(second) == Lines{"duplicate w0"});
  CHECK(driver.push(1, {1, 2}) == Lines{"apply w1 s3", "version 3"});
  CHECK(driver.server.state().range_clock.ranges() == 1);
  CHECK(driver.server.state().range_splits == 0);
}

TEST_CASE("a duplicate does not make a group complete", "[protocol]") {
  Driver driver({.model = "bsp"}, 2);
  driver.pull_all();
  const Message first = driver.push_of(0);
  CHECK(driver.deliver(first).empty());
  CHECK(driver.deliver(first) == Lines{"duplicate w0"});
  CHECK(driver.server.pending().size() == 1);
  CHECK(driver.push(1) == Lines{"apply w0 s0", "apply w1 s0", "version 1"});
}

TEST_CASE("a push that has overtaken others waits for them", "[protocol]") {
  Driver driver({.model = "asp"}, 1);
  const Message first = driver.push_of(0), second = driver.push_of(0), third = driver.push_of(0);
  CHECK(driver.deliver(third).empty());
  CHECK(driver.server.early().size() == 1);
  CHECK(driver.deliver(first).front().starts_with("apply"));
  CHECK(driver.deliver(first) == Lines{"duplicate w0"});
  CHECK(driver.server.version() == 1);
  CHECK(driver.deliver(second).size() == 4);  // two updates
  CHECK(driver.server.early().empty());
  CHECK(driver.deliver(third) == Lines{"duplicate w0"});
  CHECK(driver.arrived() == 3);
}

TEST_CASE("pushes of feature blocks give each block a clock of its own", "[protocol]") {
  Driver driver({.model = "asp"}, 2, {.weights = Numbers(12, 0), .feature_blocks = 4});
  std::vector<Message> pushes;
  for (int i = 0; i < 5; ++i) pushes.push_back(driver.push_of(0, Numbers(12, 1)));
  const std::vector<std::size_t> ranges = {2, 3, 4, 4, 4};
  for (std::size_t i = 0; i < pushes.size(); ++i) {
    CHECK(driver.deliver(pushes[i]).front().starts_with("apply"));
    CHECK(driver.server.state().range_clock.ranges() == ranges[i]);
    CHECK(driver.deliver(pushes[i]) == Lines{"duplicate w0"});
  }
  CHECK(driver.server.state().range_splits == 3);
  for (int i = 0; i < 4; ++i) driver.push(1, Numbers(12, 1));
  CHECK(driver.server.state().range_clock.ranges() == 4);  // the other worker's blocks are the same
  CHECK(driver.server.state().range_splits == 3);
}

TEST_CASE("a shard without a part of the block still tells a push from its duplicate", "[protocol]") {
  ConsistencySpec spec{.model = "asp"};
  Log log;
  ShardServer server({.state = {.shards = 2,
                                .first_worker = first_worker,
                                .rule = test::shared_rule(spec, 1),
                                .steps = 100,
                                .weights = {.ranges = {{0, 4}}, .feature_blocks = 2, .parameters = 8}}},
                     std::nullopt, 4);
  const auto push = [&](std::int64_t number) {
    log.lines.clear();
    server.on(from_worker(0, Push{.worker = first_worker, .number = number, .clock = number}), 0, log);
    return log.lines.front().substr(0, 5);
  };
  for (const std::int64_t number : {0, 1, 2, 3}) {
    CHECK(push(number) == "apply");
    CHECK(push(number) == "dupli");
  }
  CHECK(push(1) == "dupli");
  CHECK(server.state().range_clock.ranges() == 1);
}

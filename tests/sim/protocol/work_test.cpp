// Goal: shares of a clock's samples follow speeds exactly, and a push counts by its samples.
#include "sim/protocol/work.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

TEST_CASE("samples are shared out by speed, by the largest remainder, at least one each", "[work]") {
  CHECK(share_out(21, {1, 2, 4}) == Sizes{3, 6, 12});
  CHECK(share_out(12, {3e9, 3e9, 3e9}) == Sizes{4, 4, 4});
  CHECK(share_out(10, {1, 1, 1}) == Sizes{4, 3, 3});       // equal remainders: the first
  CHECK(share_out(11, {1, 1, 1}) == Sizes{4, 4, 3});       // one each, while there is any left
  CHECK(share_out(10, {1, 2, 3}) == Sizes{2, 3, 5});       // quotas 1.67, 3.33, 5
  CHECK(share_out(10, {0.001, 1, 1}) == Sizes{1, 5, 4});   // too slow for one sample
  CHECK(share_out(3, {1e-9, 1, 1e-9}) == Sizes{1, 1, 1});  // nothing to choose
}

namespace {

// What the scheduler says: "1@10 4,6" is told to worker 1, from clock 10 on.
using Told = std::vector<std::string>;
Told told(const Balancer::Assignments& all) {
  Told lines;
  for (const Balancer::Assignment& one : all)
    lines.push_back(fmt::format("{}@{} {}", one.worker, one.clock, fmt::join(*one.sizes, ",")));
  return lines;
}

}  // namespace

TEST_CASE("the scheduler decides when all have reported, by the exponential mean of their times", "[work]") {
  Balancer balancer({.first = {15, 15}, .smoothing = 0.5});
  CHECK(told(balancer.report(1, 10, 2, {}, 0)).empty());
  CHECK(told(balancer.report(0, 10, 1, {}, 0)) == Told{"0@10 20,10", "1@10 20,10"});
  CHECK(told(balancer.report(0, 20, 1, {}, 0)).empty());
  // The second worker's mean is now (2 + 6) / 2 = 4.
  CHECK(told(balancer.report(1, 20, 6, {}, 0)) == Told{"0@20 24,6", "1@20 24,6"});
  Balancer timeless({.first = {4, 4}, .smoothing = 1});
  CHECK(told(timeless.report(0, 1, 0, {}, 0)).empty());
  CHECK(told(timeless.report(1, 1, 5, {}, 0)) == Told{"0@1 4,4", "1@1 4,4"});
}

TEST_CASE("a report that comes twice counts once, and is answered with what was decided", "[work]") {
  Balancer balancer({.first = {6, 6}, .smoothing = 0.5, .patience = 2});
  CHECK(told(balancer.report(0, 5, 1, {}, 0)).empty());
  CHECK(told(balancer.report(0, 5, 9, {}, 1)).empty());
  CHECK(told(balancer.report(1, 5, 2, {}, 1)) == Told{"0@5 8,4", "1@5 8,4"});
  CHECK(told(balancer.report(1, 5, 7, {}, 2)) == Told{"1@5 8,4"});
  // A worker whose shard was set back asks for an old clock again.
  CHECK(told(balancer.report(0, 10, 1, {}, 3)).empty());
  CHECK(told(balancer.report(1, 10, 2, {}, 3)) == Told{"0@10 8,4", "1@10 8,4"});
  CHECK(told(balancer.report(1, 5, {}, {}, 4)) == Told{"1@5 8,4"});
}

TEST_CASE("a decision waits for reports until its patience is over, or for those only who take part",
          "[work]") {
  Balancer balancer({.first = {4, 4, 4}, .smoothing = 1, .patience = 2, .longest = 30, .begun = 9});
  CHECK(!balancer.next());
  CHECK(told(balancer.report(2, 5, 1, {}, 10)).empty());
  CHECK(balancer.next() == 10 + 2 + 10);
  CHECK(told(balancer.overdue(21)).empty());
  CHECK(told(balancer.overdue(22)) == Told{"2@5 4,4,4"});  // of the others nothing is known: as fast
  CHECK(told(balancer.report(0, 10, 1, {}, 32)).empty());
  CHECK(balancer.next() == 32 + 30);
  CHECK(told(balancer.report(2, 10, 3, {}, 33)).empty());
  CHECK(told(balancer.set_members({true, false, true}, 34)) == Told{"0@10 9,0,3", "2@10 9,0,3"});
  // It is back: as fast as the mean of the others until it is measured.
  CHECK(told(balancer.set_members({true, true, true}, 35)).empty());
  for (const std::uint32_t worker : {0U, 1U}) CHECK(told(balancer.report(worker, 15, {}, {}, 36)).empty());
  CHECK(told(balancer.report(2, 15, 3, {}, 36)).size() == 3);
}

TEST_CASE("where no clock is common decisions are numbered, and a report hears of a newer one", "[work]") {
  Balancer balancer({.first = {6, 6}, .smoothing = 1, .in_step = false, .decisions = 100});
  CHECK(told(balancer.report(0, 5, 1, 0, 0)).empty());
  CHECK(told(balancer.report(0, 10, 1, 0, 0)).empty());  // two reports of equal workers: nothing changes
  CHECK(told(balancer.report(1, 5, 2, 0, 0)).empty());
  CHECK(told(balancer.report(0, 15, 1, 0, 0)) == Told{"0@101 8,4", "1@101 8,4"});
  CHECK(told(balancer.report(1, 10, 2, 0, 0)) == Told{"1@101 8,4"});  // it has not heard of it
  CHECK(told(balancer.report(0, 20, 1, 101, 0)).empty());
  CHECK(told(balancer.set_members({false, true}, 0)) == Told{"1@102 0,12"});
  CHECK(told(balancer.set_members({true, true}, 0)) == Told{"0@103 8,4", "1@103 8,4"});
}

TEST_CASE("those who take part share out all samples of a clock", "[work]") {
  CHECK(share_among({8, 4, 12}, {true, true, true}) == Sizes{8, 4, 12});
  CHECK(share_among({8, 4, 12}, {true, true, false}) == Sizes{16, 8, 0});
  CHECK(share_among({8, 0, 4}, {true, true, true}) == Sizes{5, 4, 3});  // 12 by 8 : 6 : 4
  CHECK(share_among({8, 4}, {false, false}) == Sizes{8, 4});
}

namespace {

// Two workers push the gradients 1 and 4, of 3 samples and 1; one weight from 0 at rate 1.
double after_a_clock(const ConsistencySpec& spec, std::int64_t second_samples) {
  Driver d(spec, 2, {.weights = {0}, .learning_rate = {.base = 1}});
  d.pull_all();
  Message first = d.push_of(0, {1}), second = d.push_of(1, {4});
  first.as<Push>()->samples = 3;
  second.as<Push>()->samples = second_samples;
  d.deliver(first);
  d.deliver(second);
  return d.weights()[0];
}

}  // namespace

TEST_CASE("a clock's update is the mean over its samples", "[work]") {
  CHECK(after_a_clock({.model = "bsp"}, 1) == Approx(-7.0 / 4).epsilon(1e-15));
  CHECK(after_a_clock({.model = "bsp"}, 3) == -2.5);
  CHECK(after_a_clock({.model = "bsp", .aggregation = {"sum"}}, 1) == Approx(-7.0 / 2).epsilon(1e-15));
}

TEST_CASE("where late pushes count, a push counts by its samples, whoever is in its group", "[work]") {
  // Of two workers with batches of one sample in the mean, each sample moves the weight by half its gradient.
  const auto moved = [](const ConsistencySpec& spec) {
    Driver d(spec, 2, {.weights = {0}, .learning_rate = {.base = 1}});
    d.pull_all();
    Message first = d.push_of(0, {1}), second = d.push_of(1, {4});
    first.as<Push>()->samples = 3;
    second.as<Push>()->samples = 2;
    d.deliver(first);
    const double before = d.weights()[0];
    d.deliver(second);
    return std::pair(before, d.weights()[0]);
  };
  CHECK(moved({.model = "asp"}) == std::pair(-1.5, -5.5));
  CHECK(moved({.model = "ssp"}) == std::pair(-1.5, -5.5));
  CHECK(moved({.model = "k-async", .k = 2}) == std::pair(0.0, -5.5));
}

TEST_CASE("a decision does not wait for the reports of those who are gone", "[work]") {
  Balancer balancer({.first = {4, 4, 4}, .smoothing = 1, .in_step = false});
  CHECK(told(balancer.set_members({true, true, false}, 0)) == Told{"0@1 6,6,0", "1@1 6,6,0"});
  CHECK(told(balancer.report(0, 5, 1, 1, 0)).empty());
  CHECK(told(balancer.report(1, 5, 2, 1, 0)) == Told{"0@2 8,4,0", "1@2 8,4,0"});
}

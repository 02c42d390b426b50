// Goal: shares of a clock's samples follow speeds exactly, and a push counts by its samples.
#include "sim/protocol/work.hpp"

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

using Sizes = std::vector<std::int64_t>;

TEST_CASE("samples are shared out by speed, by the largest remainder, at least one each", "[work]") {
  CHECK(share_out(21, {1, 2, 4}) == Sizes{3, 6, 12});
  CHECK(share_out(12, {3e9, 3e9, 3e9}) == Sizes{4, 4, 4});
  CHECK(share_out(10, {1, 1, 1}) == Sizes{4, 3, 3});       // equal remainders: the first
  CHECK(share_out(11, {1, 1, 1}) == Sizes{4, 4, 3});       // one each, while there is any left
  CHECK(share_out(10, {1, 2, 3}) == Sizes{2, 3, 5});       // quotas 1.67, 3.33, 5
  CHECK(share_out(10, {0.001, 1, 1}) == Sizes{1, 5, 4});   // too slow for one sample
  CHECK(share_out(3, {1e-9, 1, 1e-9}) == Sizes{1, 1, 1});  // nothing to choose
}

TEST_CASE("the scheduler decides when all have reported, by the exponential mean of their times", "[work]") {
  Balancer balancer(30, 2, 0.5);
  CHECK(!balancer.report(1, 2));
  CHECK(balancer.report(0, 1) == Sizes{20, 10});
  CHECK(!balancer.report(0, 1));
  // The second worker's mean is now (2 + 6) / 2 = 4.
  CHECK(balancer.report(1, 6) == Sizes{24, 6});
  Balancer timeless(8, 2, 1);
  CHECK(!timeless.report(0, 0));
  CHECK(timeless.report(1, 5) == Sizes{4, 4});
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

TEST_CASE("with stolen work a clock is complete with its samples, however many pushes bring them", "[work]") {
  for (const Aggregation aggregation : {Aggregation::mean, Aggregation::sum}) {
    Driver d({.model = "bsp", .aggregation = aggregation}, 2,
             {.weights = {0}, .learning_rate = {.base = 1}, .clock_samples = 8});
    d.pull_all();
    Message fast = d.push_of(0, {1}), slow = d.push_of(1, {4}), stolen = d.push_of(0, {2});
    fast.as<Push>()->samples = 4;
    slow.as<Push>()->samples = 1;
    stolen.as<Push>()->samples = 3;
    CHECK(d.deliver(fast) == Lines{});
    CHECK(d.deliver(slow) == Lines{});
    CHECK(d.deliver(stolen) == Lines{"apply w0 s0", "apply w0 s0", "apply w1 s0", "version 1"});
    const double mean = (4 * 1 + 1 * 4 + 3 * 2) / 8.0;
    CHECK(d.weights()[0] == (aggregation == Aggregation::mean ? -mean : -2 * mean));
  }
}

TEST_CASE("a clock's update is the mean over its samples", "[work]") {
  CHECK(after_a_clock({.model = "bsp"}, 1) == Approx(-7.0 / 4).epsilon(1e-15));
  CHECK(after_a_clock({.model = "bsp"}, 3) == -2.5);
  CHECK(after_a_clock({.model = "bsp", .aggregation = Aggregation::sum}, 1) ==
        Approx(-7.0 / 2).epsilon(1e-15));
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

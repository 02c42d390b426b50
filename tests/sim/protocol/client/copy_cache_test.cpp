// The weights that a worker keeps between pulls: for how long a copy does, and what its own pushes make of
// it.
#include "sim/protocol/client/kv_client.hpp"

#include <utility>
#include <vector>

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Of three shards, each with the bound 3 but for these.
CopyCache::Options bounds(StalenessBound second = {.staleness = 3}) {
  return {.bounds = {{.staleness = 3}, std::move(second), {.staleness = 3}}, .steps = 30};
}

}  // namespace

TEST_CASE("copies: one does for as many clocks as the bound lets it be old", "[client][copies]") {
  CopyCache cache(bounds());
  CHECK(cache.is_on());
  CHECK_FALSE(cache.does(1, 0));  // there is none
  cache.received(1, 5);           // it has all pushes before clock 5
  CHECK(cache.does(1, 5));
  CHECK(cache.does(1, 8));
  CHECK_FALSE(cache.does(1, 9));  // that needs all pushes before clock 6
  CHECK_FALSE(cache.does(0, 5));
  CHECK_FALSE(cache.does(2, 5));
  cache.received(1, 6);
  CHECK(cache.does(1, 9));
}

TEST_CASE("copies: the last pull is for new weights", "[client][copies]") {
  CopyCache cache(bounds());
  cache.received(0, 29);
  CHECK(cache.does(0, 29));
  CHECK_FALSE(cache.does(0, 30));
}

TEST_CASE("copies: a layer's own bound decides about its shard, and a schedule from its clock on",
          "[client][copies]") {
  CopyCache cache(bounds({.staleness = 6}));
  for (const std::uint32_t s : {0U, 1U, 2U}) cache.received(s, 10);
  CHECK(cache.does(0, 13));
  CHECK_FALSE(cache.does(0, 14));
  CHECK(cache.does(1, 16));
  CHECK_FALSE(cache.does(1, 17));
  CopyCache later(bounds({.schedule = {{0, 1}, {12, 4}}}));
  later.received(1, 9);
  CHECK(later.does(1, 10));
  CHECK_FALSE(later.does(1, 11));
  CHECK(later.does(1, 12));
  CHECK(later.does(1, 13));
  CHECK_FALSE(later.does(1, 14));
}

TEST_CASE("copies: another owner's shard is asked for again, and the others are not", "[client][copies]") {
  CopyCache cache(bounds());
  for (const std::uint32_t s : {0U, 1U, 2U}) cache.received(s, 7);
  cache.forget(1);
  CHECK(cache.does(0, 7));
  CHECK_FALSE(cache.does(1, 7));
  CHECK(cache.does(2, 7));
  cache.forget_all();
  CHECK_FALSE(cache.does(0, 7));
  CHECK_FALSE(cache.does(2, 7));
  cache.received(0, 8);
  CHECK(cache.does(0, 8));
}

TEST_CASE("copies: both parts of a shard that is cut are as old as the whole one", "[client][copies]") {
  CopyCache cache(bounds({.staleness = 5}));
  cache.received(1, 4);
  cache.cut(1);
  CHECK(cache.does(1, 9));
  CHECK(cache.does(3, 9));  // with the bound of their layer
  CHECK_FALSE(cache.does(3, 10));
  cache.received(3, 6);
  CHECK(cache.does(3, 11));
  CHECK_FALSE(cache.does(1, 11));
}

TEST_CASE("copies: without a cache none is kept", "[client][copies]") {
  CopyCache cache(CopyCache::Options{});
  CHECK_FALSE(cache.is_on());
  cache.received(0, 9);
  cache.cut(0);
  cache.forget(0);
  CHECK_FALSE(cache.does(0, 9));
}

TEST_CASE("copies: one's own push is read as the server applies it alone", "[client][copies]") {
  // Of 4 workers' mean each push moves the weights by a quarter of the rate, times its samples over 8.
  CopyCache::Options options = bounds();
  options.share = 0.25;
  options.batch_size = 8;
  options.learning_rate = {.base = 0.8, .schedule = RateSchedule::step, .step_every = 10, .step_factor = 0.5};
  options.epochs = {.per_clock = 1};
  const CopyCache cache(options);
  const Slice weights{values_of({7, 1, 2, 7}), 1, 2, 5};
  const Slice gradient{values_of({0, 0, 0, 0, 10, -20, 0, 0, 0}), 4, 2};
  const Slice own = cache.with_own_push(weights, gradient, 9, 12);
  CHECK(numbers_of(own)[0] == Approx(1 - 0.8 / 4 * 12 / 8 * 10).epsilon(1e-14));
  CHECK(numbers_of(own)[1] == Approx(2 + 0.8 / 4 * 12 / 8 * 20).epsilon(1e-14));
  CHECK(own.version == 5);
  CHECK(numbers_of(weights) == Numbers{1, 2});  // others may read them
  const Slice late = cache.with_own_push(weights, gradient, 10, 8);
  CHECK(numbers_of(late)[0] == Approx(1 - 0.4 / 4 * 10).epsilon(1e-14));
  const Slice phantom = cache.with_own_push(weights, {nullptr, 0, 2}, 0, 8);
  CHECK(phantom.values == weights.values);
}

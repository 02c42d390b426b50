// The weights that a worker keeps between pulls: for how long a copy does, and what its own pushes make of
// it.
#include <memory>
#include <string>

#include "sim/nodes/copy_cache.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

std::string ssp(const std::string& consistency, const std::string& training = "") {
  return "[model]\nkind = \"phantom\"\narrays = [4, 2, 3]\nprecision = \"float64\"\n[training]\n"
         "batch_size = 8\nsteps = 30\n" +
         training + "[consistency]\nmodel = \"ssp\"\n" + consistency +
         "[compute]\ntime = \"1s\"\n[cluster]\nworkers = 4\nservers = 1\n[messages]\nunit = \"array\"\n";
}

}  // namespace

TEST_CASE("copies: one does for as many clocks as the bound lets it be old", "[roles][copies]") {
  const Planned planned(ssp("staleness = 3\ncache = true\n"));
  CopyCache cache(planned.plan());
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

TEST_CASE("copies: the last pull is for new weights", "[roles][copies]") {
  const Planned planned(ssp("staleness = 3\ncache = true\n"));
  CopyCache cache(planned.plan());
  cache.received(0, 29);
  CHECK(cache.does(0, 29));
  CHECK_FALSE(cache.does(0, 30));
}

TEST_CASE("copies: a layer's own bound decides about its shard, and a schedule from its clock on",
          "[roles][copies]") {
  const Planned own(ssp("staleness = 3\ncache = true\narray = [{layer = 1, staleness = 6}]\n"));
  CopyCache cache(own.plan());
  for (const std::uint32_t s : {0U, 1U, 2U}) cache.received(s, 10);
  CHECK(cache.does(0, 13));
  CHECK_FALSE(cache.does(0, 14));
  CHECK(cache.does(1, 16));
  CHECK_FALSE(cache.does(1, 17));
  const Planned scheduled(ssp("staleness_schedule = [[0, 1], [12, 4]]\ncache = true\n"));
  CopyCache later(scheduled.plan());
  later.received(2, 9);
  CHECK(later.does(2, 10));
  CHECK_FALSE(later.does(2, 11));
  CHECK(later.does(2, 12));
  CHECK(later.does(2, 13));
  CHECK_FALSE(later.does(2, 14));
}

TEST_CASE("copies: another owner's shard is asked for again, and the others are not", "[roles][copies]") {
  const Planned planned(ssp("staleness = 3\ncache = true\n"));
  CopyCache cache(planned.plan());
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

TEST_CASE("copies: both parts of a shard that is cut are as old as the whole one", "[roles][copies]") {
  const Planned planned(ssp("staleness = 2\ncache = true\narray = [{layer = 1, staleness = 5}]\n"));
  CopyCache cache(planned.plan());
  cache.received(1, 4);
  cache.cut(1);
  CHECK(cache.does(1, 9));
  CHECK(cache.does(3, 9));  // with the bound of their layer
  CHECK_FALSE(cache.does(3, 10));
  cache.received(3, 6);
  CHECK(cache.does(3, 11));
  CHECK_FALSE(cache.does(1, 11));
}

TEST_CASE("copies: without a cache none is kept", "[roles][copies]") {
  const Planned planned(ssp("staleness = 3\n"));
  CopyCache cache(planned.plan());
  CHECK_FALSE(cache.is_on());
  cache.received(0, 9);
  cache.cut(0);
  cache.forget(0);
  CHECK_FALSE(cache.does(0, 9));
}

TEST_CASE("copies: one's own push is read as the server applies it alone", "[roles][copies]") {
  // Of 4 workers' mean each push moves the weights by a quarter of the rate, times its samples over 8.
  const Planned planned(
      ssp("staleness = 3\ncache = true\n",
          "learning_rate = 0.8\nschedule = \"step\"\nschedule_every = 10.0\nschedule_factor = 0.5\n"));
  const CopyCache cache(planned.plan());
  const Shard& shard = planned.plan().keys.shards[1];
  REQUIRE(shard.count == 2);
  const auto gradient = values_of({0, 0, 0, 0, 10, -20, 0, 0, 0});
  const Slice weights{values_of({7, 1, 2, 7}), 1, 2, 5};
  const Slice own = cache.with_own_push(shard, weights, gradient, 9, 12);
  CHECK(numbers_of(own)[0] == Approx(1 - 0.8 / 4 * 12 / 8 * 10).epsilon(1e-14));
  CHECK(numbers_of(own)[1] == Approx(2 + 0.8 / 4 * 12 / 8 * 20).epsilon(1e-14));
  CHECK(own.version == 5);
  CHECK(numbers_of(weights) == Numbers{1, 2});  // others may read them
  const Slice late = cache.with_own_push(shard, weights, gradient, 10, 8);
  CHECK(numbers_of(late)[0] == Approx(1 - 0.4 / 4 * 10).epsilon(1e-14));
}

TEST_CASE("copies: with sums a push moves the weights by the whole rate", "[roles][copies]") {
  const Planned planned(ssp("staleness = 3\ncache = true\naggregation = \"sum\"\n", "learning_rate = 0.5\n"));
  const CopyCache cache(planned.plan());
  const Slice weights{values_of({1, 2, 3}), 0, 3};
  const Slice own = cache.with_own_push(planned.plan().keys.shards[2], weights,
                                        values_of({0, 0, 0, 0, 0, 0, 2, 4, 8}), 0, 8);
  CHECK(numbers_of(own) == Numbers{0, 0, -1});
  const Slice phantom = cache.with_own_push(planned.plan().keys.shards[2], weights, nullptr, 0, 8);
  CHECK(phantom.values == weights.values);
}

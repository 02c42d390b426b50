#include "sim/protocol/scheduler/slow_worker_policy.hpp"

#include "tests/support/catch.hpp"

using psim::SlowNodes;

namespace {

// Each worker reports once; the last answer of `worker`.
std::optional<SlowNodes::Found> round(SlowNodes& nodes, const std::vector<double>& seconds,
                                      std::size_t worker) {
  std::optional<SlowNodes::Found> found;
  for (std::size_t w = 0; w < seconds.size(); ++w) {
    const auto one = nodes.report(w, seconds[w]);
    if (w == worker) found = one;
  }
  return found;
}

}  // namespace

TEST_CASE("a worker is slow by the median of the others, over a full window", "[slow-workers]") {
  SlowNodes nodes(5, 2, 3);
  const std::vector<double> seconds{1, 2, 3, 4, 6.5};  // the others' median is 2.5
  CHECK(!round(nodes, seconds, 4));
  CHECK(!round(nodes, seconds, 4));
  const auto found = round(nodes, seconds, 4);
  REQUIRE(found);
  CHECK(found->seconds == 6.5);
  CHECK(found->median == 2.5);
  CHECK(!nodes.report(3, 4));  // twice the median of 1, 2 and 3, and not above it
}

TEST_CASE("a slow worker is found once, and does not count among the others", "[slow-workers]") {
  SlowNodes nodes(3, 2, 1);
  CHECK(round(nodes, {1, 1, 9}, 2));
  CHECK(!round(nodes, {1, 1, 9}, 2));
  CHECK(round(nodes, {1, 2.5, 9}, 1));   // beside worker 0 alone
  CHECK(!round(nodes, {100, 1, 1}, 0));  // nobody is left to compare with
}

TEST_CASE("what was forgotten is no part of a mean", "[slow-workers]") {
  SlowNodes nodes(2, 2, 2);
  round(nodes, {1, 9}, 1);
  nodes.forget(1);
  CHECK(!round(nodes, {1, 9}, 1));
  CHECK(round(nodes, {1, 9}, 1));
}

TEST_CASE("a worker that begins anew may be found slow again, by times of its new life", "[slow-workers]") {
  SlowNodes nodes(3, 2, 2);
  round(nodes, {1, 1, 9}, 2);
  CHECK(round(nodes, {1, 1, 9}, 2));
  nodes.forget(2);  // it was suspected, and is still the same
  round(nodes, {1, 1, 9}, 2);
  CHECK(!round(nodes, {1, 1, 9}, 2));
  nodes.begins_anew(2);
  CHECK(!round(nodes, {1, 1, 9}, 2));  // one report of this life
  CHECK(round(nodes, {1, 1, 9}, 2));
  nodes.begins_anew(2);
  round(nodes, {1, 1, 1}, 2);
  CHECK(!round(nodes, {1, 1, 1}, 2));
}

// Goal: a stale push counts as much less as its function says, and one that is too stale as the limit says.
#include "sim/protocol/staleness_weight.hpp"

#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

Driver::Setup one_weight() { return {.weights = {0}, .learning_rate = {.base = 1}}; }
double moved(const Driver& d) { return -d.weights()[0]; }

}  // namespace

TEST_CASE("staleness functions are those of their papers", "[staleness]") {
  StalenessRule rule{.function = "inverse"};
  CHECK(rule.divisor(0) == 1);
  CHECK(rule.divisor(1) == 1);
  CHECK(rule.divisor(4) == 4);
  rule = {.function = "polynomial", .settings = {{"staleness_exponent", 0.5}}};
  CHECK(rule.divisor(0) == 1);
  CHECK(rule.divisor(8) == Approx(3));
  rule = {.function = "hinge", .settings = {{"staleness_slope", 10.0}, {"staleness_knee", std::int64_t{4}}}};
  CHECK(rule.divisor(4) == 1);
  CHECK(rule.divisor(6) == 21);
}

TEST_CASE("a limit drops what is staler, or divides it by how much staler it is", "[staleness]") {
  StalenessRule rule{.limit = 2};
  CHECK(rule.divisor(2) == 1);
  CHECK_FALSE(rule.drops(2));
  CHECK(rule.drops(3));
  rule.beyond = TooStale::damp;
  CHECK_FALSE(rule.drops(9));
  CHECK(rule.divisor(2) == 1);
  CHECK(rule.divisor(3) == 2);
  CHECK(rule.divisor(7) == 6);
  rule.function = "inverse";
  CHECK(rule.divisor(7) == 42);  // both
}

TEST_CASE("under asp a push beyond the limit is dropped, and its worker goes on", "[staleness]") {
  Driver d({.model = "asp", .max_staleness = 1, .aggregation = {"sum"}}, 3, one_weight());
  d.pull_all();
  CHECK(d.push(0, {1}).front() == "apply w0 s0");
  CHECK(d.push(1, {1}).front() == "apply w1 s1");
  CHECK(d.push(2, {1}).front() == "drop w2");
  CHECK(moved(d) == 2);
  CHECK(d.pull(2) == Lines{"weights w2 v2"});
  CHECK(d.push(2, {1}).front() == "apply w2 s0");
}

TEST_CASE("under k-async a dropped push counts as done, so its worker may start", "[staleness]") {
  Driver d({.model = "k-async", .k = 1, .max_staleness = 0}, 2, one_weight());
  d.pull_all();
  d.push(0, {1});
  CHECK(d.push(1, {1}).front() == "drop w1");
  CHECK(d.pull(1) == Lines{"weights w1 v1"});
}

TEST_CASE("under ssp a dropped push still moves its worker's clock", "[staleness]") {
  Driver d({.model = "ssp", .staleness = 1, .max_staleness = 0}, 2, one_weight());
  d.pull_all();
  d.turn(0, {1});
  CHECK(d.turn(0, {1}).back() == "version 2");  // two clocks ahead: it waits
  CHECK(d.push(1, {1}) == Lines{"drop w1", "weights w0 v2"});
}

TEST_CASE("a damped push moves the weights by its share", "[staleness]") {
  Driver d({.model = "asp", .max_staleness = 1, .too_stale = TooStale::damp, .aggregation = {"sum"}}, 4,
           one_weight());
  d.pull_all();
  for (std::uint32_t w = 0; w < 4; ++w) d.push(w, {6});
  CHECK(moved(d) == Approx(6 + 6 + 3 + 2));
}

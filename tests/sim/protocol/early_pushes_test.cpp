// Goal: a worker's pushes are taken in its order, whatever the order in which they come. Method: by hand.
#include "sim/protocol/server/push_intake.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Push push(std::int64_t number) { return {.worker = 7, .number = number}; }

}  // namespace

TEST_CASE("an early push is kept once, and taken when its turn has come", "[pushes]") {
  EarlyPushes early;
  CHECK(early.keep(0, push(3)));
  CHECK_FALSE(early.keep(0, push(3)));
  CHECK(early.keep(0, push(2)));
  CHECK_FALSE(early.take(0, 1));
  REQUIRE(early.take(0, 2).value().number == 2);
  REQUIRE(early.take(0, 3).value().number == 3);
  CHECK_FALSE(early.take(0, 4));
}

// It was skipped: its number is below the next one.
TEST_CASE("an early push whose turn is over comes out as well", "[pushes]") {
  EarlyPushes early;
  early.keep(0, push(3));
  CHECK(early.take(0, 5).value().number == 3);
}

TEST_CASE("early pushes of one worker are not taken for another's", "[pushes]") {
  EarlyPushes early;
  early.keep(1, push(2));
  early.keep(2, push(0));
  CHECK_FALSE(early.take(0));
  CHECK_FALSE(early.take(1, 1));
  CHECK(early.take(1).value().number == 2);
  CHECK_FALSE(early.take(1));
  REQUIRE(early.all().size() == 1);
  early.clear();
  CHECK(early.all().empty());
}

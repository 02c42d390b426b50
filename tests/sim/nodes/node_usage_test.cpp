// How long nodes are on and busy.
#include "sim/nodes/job/job_state.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("usage: a node is on from its start to its end, or to the date that is asked about",
          "[roles][usage]") {
  NodeUsage usage(3);
  usage.turn_on(1, 2);
  CHECK(usage.on_seconds(1, 2) == 0);
  CHECK(usage.on_seconds(1, 7) == 5);
  usage.turn_off(1, 10);
  CHECK(usage.on_seconds(1, 10) == 8);
  CHECK(usage.on_seconds(1, 100) == 8);
  usage.turn_on(1, 20);
  CHECK(usage.on_seconds(1, 20) == 8);
  CHECK(usage.on_seconds(1, 23.5) == 11.5);
  CHECK(usage.on_seconds(0, 100) == 0);
  CHECK(usage.on_seconds(2, 100) == 0);
  CHECK(usage.nodes() == 3);
}

TEST_CASE("usage: what is on already is not turned on again, and what is off stays off", "[roles][usage]") {
  NodeUsage usage(1);
  usage.turn_off(0, 1);
  CHECK(usage.on_seconds(0, 5) == 0);
  usage.turn_on(0, 3);
  usage.turn_on(0, 6);
  CHECK(usage.on_seconds(0, 9) == 6);
  usage.turn_off(0, 10);
  usage.turn_off(0, 12);
  CHECK(usage.on_seconds(0, 20) == 7);
}

TEST_CASE("usage: a node that begins at date 0 is on since then", "[roles][usage]") {
  NodeUsage usage(1);
  usage.turn_on(0, 0);
  usage.computes(0, 1, 0);
  CHECK(usage.on_seconds(0, 4) == 4);
  CHECK(usage.busy_seconds(0, 4) == 4);
}

TEST_CASE("usage: two computations at once make a node busy once", "[roles][usage]") {
  NodeUsage usage(2);
  usage.computes(0, 1, 1);
  usage.computes(0, 1, 3);
  CHECK(usage.computations(0) == 2);
  usage.computes(0, -1, 4);
  CHECK(usage.computations(0) == 1);
  CHECK(usage.busy_seconds(0, 5) == 4);
  usage.computes(0, -1, 6);
  CHECK(usage.busy_seconds(0, 9) == 5);
  usage.computes(0, 1, 10);
  CHECK(usage.busy_seconds(0, 12) == 7);
  CHECK(usage.busy_seconds(1, 12) == 0);
  CHECK(usage.computations(1) == 0);
}

TEST_CASE("usage: being busy and being on are two times", "[roles][usage]") {
  NodeUsage usage(1);
  usage.turn_on(0, 0);
  usage.computes(0, 1, 2);
  usage.turn_off(0, 3);
  CHECK(usage.on_seconds(0, 5) == 3);
  CHECK(usage.busy_seconds(0, 5) == 3);
}

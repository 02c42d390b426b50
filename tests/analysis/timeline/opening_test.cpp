// Goal: a time line opens where something happens. Method: lines drawn by hand.
#include "analysis/timeline/spans.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim::analysis;

namespace {

// A worker that takes a step in each second, and a server with these marks.
Timeline of(std::vector<Mark> marks) {
  Lane worker{.node = 2, .name = "worker 0", .spans = {}, .marks = {}};
  for (int clock = 0; clock < 100; ++clock)
    worker.spans.push_back({1.0 * clock, clock + 1.0, Use::compute, 2, clock});
  return {.end = 100,
          .lanes = {{.node = 1, .name = "server 0", .spans = {}, .marks = std::move(marks)}, worker},
          .shades = {}};
}

}  // namespace

TEST_CASE("a time line without a fault opens at the first clocks", "[timeline]") {
  for (const Timeline& line : {of({}), of({{0, "fault", "slow"}, {3, "view", "view 1"}})}) {
    CHECK_FALSE(first_fault(line));
    CHECK(opening_of(line).from == 0);
    CHECK(opening_of(line).until == 4);
  }
}

TEST_CASE("a time line opens around its first fault, until all were told of it", "[timeline]") {
  const Timeline line = of({{2, "view", "view 1"},
                            {40, "fault", "crash"},
                            {60, "suspicion", "suspected"},
                            {60.5, "view", "view 2"},
                            {70, "fault", "crash ends"},
                            {80, "fault", "crash"},
                            {81, "view", "view 3"}});
  const auto fault = first_fault(line);
  REQUIRE(fault);
  CHECK(fault->at == 40);
  CHECK(fault->until == 60.5);
  CHECK(fault->node == "server 0");
  CHECK(fault->what == "crash");
  CHECK(opening_of(line).from == 40 - 20.5 / 4);
  CHECK(opening_of(line).until == 60.5 + 20.5 / 4);
}

TEST_CASE("a fault that nobody is told of is shown until it ends, with some clocks around it", "[timeline]") {
  const Timeline over = of({{40, "fault", "slow"}, {42, "fault", "slow ends"}}),
                 stays = of({{99, "fault", "slow"}});
  CHECK(opening_of(over).from == 36);
  CHECK(opening_of(over).until == 46);
  CHECK(opening_of(stays).from == 95);
  CHECK(opening_of(stays).until == 100);
}

TEST_CASE("a fault is shown until its own end, not until that of another one or a view of its own date",
          "[timeline]") {
  Timeline line = of({{40, "view", "view 1"}, {40, "fault", "slow"}, {60, "fault", "slow ends"}});
  line.lanes.push_back({.node = 3,
                        .name = "worker 1",
                        .spans = {},
                        .marks = {{45, "fault", "slow"}, {50, "fault", "slow ends"}}});
  const auto fault = first_fault(line);
  REQUIRE(fault);
  CHECK(fault->at == 40);
  CHECK(fault->until == 60);
}

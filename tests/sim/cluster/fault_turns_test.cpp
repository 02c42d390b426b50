// Goal: faults happen when the scenario says. Method: dates by hand; exponential times within four standard
// errors.
#include "sim/cluster/fault_plan.hpp"

#include <cmath>
#include <set>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

std::vector<FaultTurn> turns(const FaultSpec& spec, std::size_t most, std::uint32_t node = 0,
                             std::uint64_t table = 0) {
  FaultTurns generator(spec, 7, table, node);
  std::vector<FaultTurn> result;
  while (result.size() < most) {
    const std::optional<FaultTurn> turn = generator.next();
    if (!turn) break;
    result.push_back(*turn);
  }
  return result;
}

}  // namespace

TEST_CASE("a fault at a date happens once, or with a period", "[faults]") {
  FaultSpec spec{.kind = "leave", .at = Seconds{5}};
  CHECK(turns(spec, 9) == std::vector<FaultTurn>{{5, HUGE_VAL}});
  spec.kind = "crash";
  spec.restart_after = Seconds{2};
  CHECK(turns(spec, 9) == std::vector<FaultTurn>{{5, 7}});
  spec.every = Seconds{10};
  CHECK(turns(spec, 3) == std::vector<FaultTurn>{{5, 7}, {15, 17}, {25, 27}});
}

TEST_CASE("a window lies between its ends, or lasts, or has no end", "[faults]") {
  FaultSpec spec{.kind = "slow", .from = Seconds{1}, .until = Seconds{4}};
  CHECK(turns(spec, 9) == std::vector<FaultTurn>{{1, 4}});
  spec.every = Seconds{3};
  CHECK(turns(spec, 3) == std::vector<FaultTurn>{{1, 4}, {4, 7}, {7, 10}});
  CHECK(turns({.kind = "drop"}, 9) == std::vector<FaultTurn>{{0, HUGE_VAL}});
  CHECK(turns({.kind = "link-down", .at = Seconds{3}, .lasts = Seconds{2}}, 9) ==
        std::vector<FaultTurn>{{3, 5}});
}

TEST_CASE("a fault that waits for a condition has no dates of its own", "[faults]") {
  const FaultSpec spec{.kind = "slow", .when = "updates >= 3", .lasts = Seconds{2}};
  CHECK(turns(spec, 9).empty());
  CHECK(FaultTurns::from(spec, 11) == FaultTurn{11, 13});
}

TEST_CASE("times between failures are exponential, and count from when all is well", "[faults]") {
  constexpr int n = 20'000;
  const FaultSpec spec{.kind = "crash", .mtbf = Seconds{10}, .restart_after = Seconds{3}};
  double well = 0, mean = 0, square = 0;
  for (const FaultTurn& turn : turns(spec, n)) {
    CHECK(turn.end == turn.begin + 3);
    const double gap = turn.begin - well;
    mean += gap / n;
    square += gap * gap / n;
    well = turn.end;
  }
  CHECK(mean == Approx(10).epsilon(0).margin(4 * 10 / std::sqrt(n)));
  // The second moment of an exponential is 2 / rate^2, its variance 20 / rate^4.
  CHECK(square == Approx(200).epsilon(0).margin(4 * 100 * std::sqrt(20.0 / n)));
}

TEST_CASE("every node and every table has failures of its own", "[faults]") {
  const FaultSpec spec{.kind = "crash", .mtbf = Seconds{10}};
  std::set<double> first;
  for (std::uint32_t node = 0; node < 5; ++node) {
    for (std::uint64_t table = 0; table < 5; ++table) first.insert(turns(spec, 1, node, table)[0].begin);
  }
  CHECK(first.size() == 25);
}

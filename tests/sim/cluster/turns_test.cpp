#include "sim/cluster/turns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr double turn = 200'000;
constexpr std::uint64_t large = 10'000'000;  // bytes

double mean_turn(const Turns& turns, NodeId from, NodeId to, std::uint64_t bytes, std::uint64_t messages) {
  double sum = 0;
  for (std::uint64_t i = 0; i < messages; ++i)
    sum += static_cast<double>(turns.last_turn(from, to, i, bytes));
  return sum / static_cast<double>(messages);
}

}  // namespace

TEST_CASE("under ideal sharing there are no turns", "[unit][turns]") {
  CHECK(Turns().last_turn(1, 2, 0, large) == 0);
  CHECK(Turns(1, 0, turn).last_turn(1, 2, 0, large) == 0);
}

TEST_CASE("last turns are anything up to a turn, and no connection has longer ones", "[unit][turns]") {
  const Turns turns(1, 0.5, turn);
  constexpr std::uint64_t messages = 10'000;
  // The standard deviation of a mean of n uniform draws is turn / sqrt(12 n).
  const double margin = 4 * turn / std::sqrt(12.0 * messages);
  for (const NodeId from : {1U, 2U, 3U}) {
    for (const NodeId to : {4U, 5U})
      CHECK(mean_turn(turns, from, to, large, messages) == Approx(turn / 2).epsilon(0).margin(margin));
  }
  CHECK(mean_turn(Turns(1, 0.25, turn), 1, 2, large, messages) ==
        Approx(turn / 4).epsilon(0).margin(margin / 2));
}

TEST_CASE("a last turn is less than its message, and nothing divides a packet", "[unit][turns]") {
  const Turns turns(1, 3, turn);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    CHECK(turns.last_turn(1, 2, i, 1501) < 1501);
    CHECK(turns.last_turn(1, 2, i, 1500) == 0);
    CHECK(turns.last_turn(1, 2, i, 0) == 0);
  }
  CHECK(mean_turn(turns, 1, 2, 40'000, 10'000) == Approx(20'000).epsilon(0.03));
}

TEST_CASE("the draw depends on seed, ends and number of a message alone", "[unit][turns]") {
  const Turns turns(1, 0.5, turn), same(1, 0.5, turn), other(2, 0.5, turn);
  std::vector<std::uint64_t> draws;
  for (const NodeId from : {1U, 2U}) {
    for (const NodeId to : {1U, 2U}) {
      for (std::uint64_t i = 0; i < 100; ++i) {
        draws.push_back(turns.last_turn(from, to, i, large));
        CHECK(draws.back() == same.last_turn(from, to, i, large));
        draws.push_back(other.last_turn(from, to, i, large));
      }
    }
  }
  std::ranges::sort(draws);
  const auto repeated = std::ranges::unique(draws);
  CHECK(repeated.size() < 10);  // 800 of 200,000 values: about 2 coincide
}

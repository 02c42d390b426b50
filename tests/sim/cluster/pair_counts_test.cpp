// Goal: each ordered pair of nodes has a count of its own.
// Method: random pairs beside a map.
#include "sim/cluster/turns.hpp"

#include <cstdint>
#include <map>
#include <utility>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("each ordered pair of nodes is counted for itself", "[turns]") {
  PairCounts counts;
  std::map<std::pair<NodeId, NodeId>, std::uint32_t> expected;
  Stream stream(1, "pairs");
  for (int i = 0; i < 20'000; ++i) {
    const auto from = static_cast<NodeId>(stream.uniform() * 50),
               to = static_cast<NodeId>(stream.uniform() * 90);
    REQUIRE(counts.add_one(from, to) == expected[{from, to}]++);
  }
}

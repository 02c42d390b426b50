// Goal: a heap hands out its values in order, and no more memory than it needs stays with it.
// Method: random pushes and pops beside a sorted set.
#include "sim/cluster/stations.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>

#include "model/base/random.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("a heap hands out the greatest first, whatever comes between", "[heap]") {
  Heap<std::uint64_t> heap;
  std::set<std::uint64_t> expected;
  Stream stream(1, "heap");
  for (int round = 0; round < 20'000; ++round) {
    // More come than go, until the middle; then fewer.
    if (expected.empty() || stream.uniform() < (round < 10'000 ? 0.7 : 0.3)) {
      const auto value = static_cast<std::uint64_t>(stream.uniform() * 1e15);
      if (expected.insert(value).second) heap.push(value);
    } else {
      REQUIRE(heap.top() == *expected.rbegin());
      heap.pop();
      expected.erase(std::prev(expected.end()));
    }
    REQUIRE(heap.size() == expected.size());
  }
}

TEST_CASE("a heap gives memory back as it empties", "[heap]") {
  Heap<int> heap;
  for (int i = 0; i < 10'000; ++i) heap.push(i);
  CHECK(heap.capacity() < 13'000);
  for (int i = 0; i < 9'000; ++i) heap.pop();
  CHECK(heap.top() == 999);
  CHECK(heap.capacity() < 4'100);
  while (!heap.empty()) heap.pop();
  CHECK(heap.capacity() <= 8);
}

#include "sim/protocol/all_reduce.hpp"

#include <vector>

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// Two layers of a weight and a bias each, and one without.
const std::vector<ParameterArray> arrays{{"W1", {0, 100}, 0},
                                         {"b1", {100, 10}, 0},
                                         {"W2", {110, 50}, 1},
                                         {"b2", {160, 5}, 1},
                                         {"W3", {165, 20}, 2}};

struct Row {
  std::size_t begin, count;
  std::uint32_t layer;
  bool operator==(const Row&) const = default;
};

std::vector<Row> cut(std::size_t slice, std::size_t most) {
  std::vector<Row> rows;
  for (const Bucket& one : cut_in_buckets(arrays, slice, most))
    rows.push_back({one.range.begin, one.range.count, one.layer});
  return rows;
}

}  // namespace

TEST_CASE("buckets: each array alone, the last one first") {
  CHECK(cut(0, 0) == std::vector<Row>{{165, 20, 2}, {160, 5, 1}, {110, 50, 1}, {100, 10, 0}, {0, 100, 0}});
}

TEST_CASE("buckets: neighbours together as long as they fit, complete with the first of their layers") {
  CHECK(cut(0, 30) == std::vector<Row>{{160, 25, 1}, {110, 50, 1}, {100, 10, 0}, {0, 100, 0}});
  CHECK(cut(0, 80) == std::vector<Row>{{110, 75, 1}, {100, 10, 0}, {0, 100, 0}});
  CHECK(cut(0, 185) == std::vector<Row>{{0, 185, 0}});
}

TEST_CASE("buckets: slices of long arrays, the last one first") {
  CHECK(cut(40, 0) == std::vector<Row>{{165, 20, 2},
                                       {160, 5, 1},
                                       {150, 10, 1},
                                       {110, 40, 1},
                                       {100, 10, 0},
                                       {80, 20, 0},
                                       {40, 40, 0},
                                       {0, 40, 0}});
  CHECK(cut(40, 40) == std::vector<Row>{{150, 35, 1}, {110, 40, 1}, {80, 30, 0}, {40, 40, 0}, {0, 40, 0}});
}

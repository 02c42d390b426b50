// Parts of shards: their place in the shards of the plan, and their share of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/values.hpp"

namespace psim {

struct Payload;

// Values `range` of shard `root` of the plan.
struct Part {
  std::uint32_t root = 0;
  Range range = {};
  bool operator==(const Part&) const = default;
  bool covers(const Part& other) const {
    return root == other.root && range.begin <= other.range.begin &&
           other.range.begin + other.range.count <= range.begin + range.count;
  }
  // The place of `inner` in this part.
  Range place_of(const Part& inner) const {
    return {inner.range.begin - range.begin, inner.range.count};  // counted from its beginning
  }
};

// Shard `shard` keeps its first `at` values; the others are a new shard, with the next free number.
struct Cut {
  std::uint32_t shard = 0;
  std::size_t at = 0;
  bool operator==(const Cut&) const = default;
};

// How many values the two parts of each cut had then. `sizes`: of all shards after the last cut.
std::vector<std::pair<std::int64_t, std::int64_t>> sizes_when_cut(const std::vector<Cut>& cuts,
                                                                  std::vector<std::int64_t> sizes);

// Positions in a shard, rising. split() returns the positions of the first `at` values, and the other
// positions, counted from `at`. Null means all values, and gives two nulls.
using SharedKeys = std::shared_ptr<const std::vector<std::uint32_t>>;
std::pair<SharedKeys, SharedKeys> split(const SharedKeys& keys, std::size_t at);

// The share of a message to a shard for the first `at` values of that shard, and the share for the others.
// The bytes of each share are in proportion to its values.
std::pair<Payload, Payload> split(const Payload& whole, std::size_t at);

}  // namespace psim

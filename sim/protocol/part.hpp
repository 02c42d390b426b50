// Parts of shards: which values of which shard of the plan, and what a message has of them.
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
  // Where `inner` lies in this part.
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

// Positions in a shard, rising: those of its first `at` values, and the others, counted from there. Null is
// all, and stays so.
using SharedKeys = std::shared_ptr<const std::vector<std::uint32_t>>;
std::pair<SharedKeys, SharedKeys> split(const SharedKeys& keys, std::size_t at);

// What a message to a shard has for the first `at` values of that shard, and for the others. Each part takes
// bytes in proportion to the values that it has.
std::pair<Payload, Payload> split(const Payload& whole, std::size_t at);

}  // namespace psim

// Every placement deals out every key once, and what a server or an array holds is cut into messages without
// loss. The placements of other systems are checked against what their code does.
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <vector>

#include "sim/protocol/key_space.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

using Sizes = std::vector<std::size_t>;
using Servers = std::vector<std::uint32_t>;

std::vector<ParameterArray> arrays_of(const Sizes& sizes) {
  std::vector<ParameterArray> arrays;
  std::size_t begin = 0;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    arrays.push_back({"w", {begin, sizes[i]}, i});
    begin += sizes[i];
  }
  return arrays;
}

// Which server holds each of the arrays, all of which must lie whole on one.
Servers servers_of(const Sizes& sizes, const PlacementSpec& spec, std::uint32_t servers) {
  const KeySpace keys =
      make_key_space(arrays_of(sizes), {.placement = spec, .unit = MessageUnit::array, .servers = servers});
  Servers result;
  for (const Shard& shard : keys.shards) result.push_back(shard.server);
  CHECK(result.size() == sizes.size());
  return result;
}

std::vector<ParameterArray> mlp_arrays(std::vector<std::int64_t> layers) {
  ModelSpec model;
  model.mlp.layers = std::move(layers);
  return parameter_arrays(model);
}

void check_shard(const Shard& shard, const KeySpaceOptions& options,
                 const std::vector<ParameterArray>& arrays) {
  RC_ASSERT(shard.server < options.servers);
  std::size_t count = 0, last_end = 0;
  for (std::size_t i = 0; i < shard.ranges.size(); ++i) {
    const Range& range = shard.ranges[i];
    RC_ASSERT(range.count > 0U);
    RC_ASSERT(i == 0 || range.begin > last_end);  // neighbours are one range
    last_end = range.begin + range.count;
    count += range.count;
  }
  RC_ASSERT(shard.count == count);
  if (options.unit == MessageUnit::server) return;
  RC_ASSERT(shard.ranges.size() == 1U);
  RC_ASSERT(options.slice == 0 || count <= static_cast<std::size_t>(options.slice));
  const Range array = arrays.at(shard.layer).range;
  RC_ASSERT(shard.ranges[0].begin >= array.begin && last_end <= array.begin + array.count);
}

void check_covers(const KeySpace& keys, std::size_t parameters) {
  RC_ASSERT(keys.parameters == parameters);
  std::vector<Range> ranges;
  for (const Shard& shard : keys.shards)
    ranges.insert(ranges.end(), shard.ranges.begin(), shard.ranges.end());
  std::ranges::sort(ranges, {}, &Range::begin);
  std::size_t end = 0;
  for (const Range& range : ranges) {
    RC_ASSERT(range.begin == end);
    end += range.count;
  }
  RC_ASSERT(end == parameters);
}

}  // namespace

TEST_CASE("every key has one place, whatever the placement and the unit", "[placement]") {
  setenv("RC_PARAMS", "seed=7 max_success=500", 0);
  CHECK(rc::check("covers the key space once", [] {
    const auto sizes = *rc::gen::nonEmpty(rc::gen::container<Sizes>(
        rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 20), rc::gen::inRange<std::size_t>(1, 300))));
    const std::vector<ParameterArray> arrays = arrays_of(sizes);
    const KeySpaceOptions options{
        .placement = {.kind = *rc::gen::element(PlacementKind::even, PlacementKind::hash_ring,
                                                PlacementKind::kvstore, PlacementKind::greedy,
                                                PlacementKind::round_robin),
                      .virtual_nodes = *rc::gen::inRange<std::int64_t>(1, 20),
                      .bigarray_bound = *rc::gen::inRange<std::int64_t>(1, 60)},
        .unit = *rc::gen::element(MessageUnit::server, MessageUnit::array),
        .slice = *rc::gen::inRange<std::int64_t>(0, 50),
        .servers = *rc::gen::inRange<std::uint32_t>(1, 20),
        .seed = *rc::gen::arbitrary<std::uint64_t>()};
    const KeySpace keys = make_key_space(arrays, options);
    const std::size_t parameters = arrays.back().range.begin + arrays.back().range.count;
    check_covers(keys, parameters);
    std::set<std::uint32_t> servers;
    for (const Shard& shard : keys.shards) {
      check_shard(shard, options, arrays);
      if (!servers.insert(shard.server).second) RC_ASSERT(options.unit == MessageUnit::array);
    }
    const Sizes load = keys.load(options.servers);
    RC_ASSERT(std::accumulate(load.begin(), load.end(), std::size_t{0}) == parameters);
    for (std::uint32_t s = 0; s < options.servers; ++s) RC_ASSERT((load[s] > 0) == servers.contains(s));
  }));
}

TEST_CASE("even: servers' loads differ by one value at most", "[placement]") {
  for (const std::uint32_t servers : {1U, 3U, 7U}) {
    const Sizes load = make_key_space(arrays_of({10, 1, 29, 5}), {.servers = servers}).load(servers);
    CHECK(std::ranges::max(load) - std::ranges::min(load) <= 1);
  }
}

TEST_CASE("kvstore: an even number of servers, and half of them hold the biases alone", "[placement]") {
  // W1, b1, W2, b2, ... are keys 0, 1, 2, 3, ...; 9973 is odd, so even keys go to even servers.
  const std::vector<ParameterArray> arrays = mlp_arrays({64, 32, 16, 24, 10});
  for (const std::uint32_t servers : {2U, 4U, 6U}) {
    const KeySpace keys = make_key_space(
        arrays,
        {.placement = {.kind = PlacementKind::kvstore}, .unit = MessageUnit::array, .servers = servers});
    REQUIRE(keys.shards.size() == 8);
    for (std::size_t key = 0; key < 8; ++key) CHECK(keys.shards[key].server % 2 == key % 2);
    if (servers == 2) CHECK(keys.load(2) == Sizes{64 * 32 + 32 * 16 + 16 * 24 + 24 * 10, 32 + 16 + 24 + 10});
  }
}

TEST_CASE("kvstore: key * 9973 mod servers, and large arrays over all servers", "[placement]") {
  // 9973 mod 5 = 3: servers 0, 3, 1, 4, 2, 0.
  CHECK(servers_of({9, 9, 9, 9, 9, 9}, {.kind = PlacementKind::kvstore}, 5) == Servers{0, 3, 1, 4, 2, 0});
  const PlacementSpec spec{.kind = PlacementKind::kvstore, .bigarray_bound = 100};
  CHECK(place(arrays_of({99, 100, 3}), spec, 4, 1) ==
        std::vector<PlacedRange>{
            {{0, 99}, 0}, {{99, 25}, 0}, {{124, 25}, 1}, {{149, 25}, 2}, {{174, 25}, 3}, {{199, 3}, 2}});
}

TEST_CASE("greedy: each array to the server that holds least", "[placement]") {
  // Loads after each: 5 0 0, 5 3 0, 5 3 4, 5 5 4, 5 5 10, 6 5 10, 6 12 10, 7 12 10.
  CHECK(servers_of({5, 3, 4, 2, 6, 1, 7, 1}, {.kind = PlacementKind::greedy}, 3) ==
        Servers{0, 1, 2, 1, 2, 0, 1, 0});
}

TEST_CASE("round-robin: array i to server i mod servers", "[placement]") {
  CHECK(servers_of({5, 3, 4, 2, 6}, {.kind = PlacementKind::round_robin}, 3) == Servers{0, 1, 2, 0, 1});
}

TEST_CASE("slices of an array are even and in order", "[placement]") {
  const KeySpace keys =
      make_key_space(arrays_of({10, 4}), {.unit = MessageUnit::array, .slice = 4, .servers = 1});
  std::vector<Range> ranges;
  for (const Shard& shard : keys.shards) ranges.push_back(shard.ranges.at(0));
  CHECK(ranges == std::vector<Range>{{0, 3}, {3, 3}, {6, 4}, {10, 4}});
  CHECK(keys.shards[2].layer == 0);
  CHECK(keys.shards[3].layer == 1);
}

#include "sim/protocol/key_space.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "model/mutant.hpp"
#include "model/random.hpp"

namespace psim {
namespace {

std::size_t total_of(const std::vector<ParameterArray>& arrays) {
  return arrays.empty() ? 0 : arrays.back().range.begin + arrays.back().range.count;
}

// Neighbouring ranges of one server become one.
void append(std::vector<PlacedRange>& placed, PlacedRange next) {
  if (next.range.count == 0) return;
  if (!placed.empty() && placed.back().server == next.server &&
      placed.back().range.begin + placed.back().range.count == next.range.begin) {
    placed.back().range.count += next.range.count;
  } else {
    placed.push_back(next);
  }
}

std::vector<PlacedRange> even_split(Range whole, std::uint32_t servers) {
  std::vector<PlacedRange> placed;
  for (std::uint32_t s = 0; s < servers; ++s) {
    const Range part = even_range(whole.count, servers, s);
    placed.push_back({{whole.begin + part.begin, part.count}, s});
  }
  return placed;
}

// apache/mxnet, src/kvstore/kvstore_dist.h, EncodeDefaultKey: an array's key is its number; small ones go
// whole to server (key * 9973) mod S, larger ones are split over all servers.
std::vector<PlacedRange> kvstore(const std::vector<ParameterArray>& arrays, std::int64_t bound,
                                 std::uint32_t servers) {
  std::vector<PlacedRange> placed;
  for (std::uint64_t key = 0; key < arrays.size(); ++key) {
    const Range whole = arrays[key].range;
    if (whole.count < static_cast<std::size_t>(bound) + (mutant("bound-is-still-small") ? 1 : 0)) {
      placed.push_back({whole, static_cast<std::uint32_t>(key * 9973 % servers)});
    } else {
      for (const PlacedRange& part : even_split(whole, servers)) placed.push_back(part);
    }
  }
  return placed;
}

// Each array in turn to the server that has least so far (tensorflow's GreedyLoadBalancingStrategy).
std::vector<PlacedRange> greedy(const std::vector<ParameterArray>& arrays, std::uint32_t servers) {
  std::vector<std::size_t> load(servers, 0);
  std::vector<PlacedRange> placed;
  for (const ParameterArray& array : arrays) {
    const auto least = static_cast<std::uint32_t>(std::ranges::min_element(load) - load.begin());
    load[least] += mutant("greedy-counts-arrays") ? 1 : array.range.count;
    placed.push_back({array.range, least});
  }
  return placed;
}

std::vector<PlacedRange> round_robin(const std::vector<ParameterArray>& arrays, std::uint32_t servers) {
  std::vector<PlacedRange> placed;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    placed.push_back({arrays[i].range, static_cast<std::uint32_t>(i % servers)});
  return placed;
}

}  // namespace

void HashRing::join(std::uint32_t server) {
  for (std::int64_t v = 0; v < virtual_nodes_; ++v) {
    Stream stream(seed_, "placement.ring", server, static_cast<std::uint64_t>(v));
    points_.push_back({stream.next(), server});
  }
  std::ranges::sort(points_);
}

void HashRing::leave(std::uint32_t server) {
  std::erase_if(points_, [&](const Point& p) { return p.server == server; });
}

__extension__ using Wide = unsigned __int128;

std::vector<PlacedRange> HashRing::owners(std::size_t total) const {
  const auto key_at = [total](std::uint64_t place) {
    return static_cast<std::size_t>((static_cast<Wide>(place) * total) >> 64U);
  };
  std::vector<PlacedRange> placed;
  append(placed,
         {{0, key_at(points_.front().place)},
          points_[mutant("seam-goes-to-the-next") ? 0 : points_.size() - 1].server});  // over the ring's seam
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::size_t begin = key_at(points_[i].place);
    const std::size_t end = i + 1 < points_.size() ? key_at(points_[i + 1].place) : total;
    append(placed, {{begin, end - begin}, points_[i].server});
  }
  return placed;
}

std::vector<PlacedRange> place(const std::vector<ParameterArray>& arrays, const PlacementSpec& spec,
                               std::uint32_t servers, std::uint64_t seed) {
  switch (spec.kind) {
    case PlacementKind::even: return even_split({0, total_of(arrays)}, servers);
    case PlacementKind::kvstore: return kvstore(arrays, spec.bigarray_bound, servers);
    case PlacementKind::greedy: return greedy(arrays, servers);
    case PlacementKind::round_robin: return round_robin(arrays, servers);
    case PlacementKind::hash_ring: {
      HashRing ring(seed, spec.virtual_nodes);
      for (std::uint32_t s = 0; s < servers; ++s) ring.join(s);
      return ring.owners(total_of(arrays));
    }
  }
  return {};
}

namespace {

// One shard for each server that holds anything.
std::vector<Shard> by_server(const std::vector<PlacedRange>& placed, std::uint32_t servers) {
  std::vector<Shard> shards(servers);
  for (std::uint32_t s = 0; s < servers; ++s) shards[s].server = s;
  for (const PlacedRange& part : placed) {
    if (part.range.count == 0) continue;  // of an array with fewer values than servers
    Shard& shard = shards[part.server];
    const bool goes_on =
        !shard.ranges.empty() && shard.ranges.back().begin + shard.ranges.back().count == part.range.begin;
    if (goes_on) shard.ranges.back().count += part.range.count;
    else shard.ranges.push_back(part.range);
    shard.count += part.range.count;
  }
  std::erase_if(shards, [](const Shard& shard) { return shard.count == 0; });
  return shards;
}

// One shard for each piece of an array on a server, and of at most `slice` values.
std::vector<Shard> by_array(const std::vector<PlacedRange>& placed, const std::vector<ParameterArray>& arrays,
                            std::size_t slice) {
  std::vector<Shard> shards;
  for (const ParameterArray& array : arrays) {
    const std::size_t array_end = array.range.begin + array.range.count;
    for (const PlacedRange& part : placed) {
      const std::size_t begin = std::max(part.range.begin, array.range.begin);
      const std::size_t end = std::min(part.range.begin + part.range.count, array_end);
      if (begin >= end) continue;
      const std::size_t pieces = slice == 0 ? 1 : (end - begin + slice - 1) / slice;
      for (std::size_t i = 0; i < pieces; ++i) {
        const Range piece = even_range(end - begin, pieces, i);
        shards.push_back({part.server, array.layer, {{begin + piece.begin, piece.count}}, piece.count});
      }
    }
  }
  return shards;
}

}  // namespace

std::vector<std::vector<Range>> KeySpace::places() const {
  std::vector<std::vector<Range>> result;
  for (const Shard& shard : shards) result.push_back(shard.ranges);
  return result;
}

std::vector<std::uint32_t> KeySpace::servers() const {
  std::vector<std::uint32_t> result;
  for (const Shard& shard : shards) result.push_back(shard.server);
  return result;
}

std::vector<std::size_t> KeySpace::load(std::uint32_t servers) const {
  std::vector<std::size_t> values(servers, 0);
  for (const Shard& shard : shards) values[shard.server] += shard.count;
  return values;
}

BatchKeys split(Keys keys, const KeySpace& space) {
  BatchKeys batch{.keys = std::move(keys), .places = {}, .local = {}};
  const auto position = [&](std::size_t key) {
    return static_cast<std::size_t>(std::ranges::lower_bound(batch.keys, key) - batch.keys.begin());
  };
  for (const Shard& shard : space.shards) {
    std::vector<Range>& places = batch.places.emplace_back();
    std::vector<std::uint32_t> local;
    std::size_t offset = 0;  // of the range within the shard
    for (const Range& range : shard.ranges) {
      const std::size_t begin = position(range.begin), end = position(range.begin + range.count);
      if (begin < end) places.push_back({begin, end - begin});
      for (std::size_t i = begin; i < end; ++i)
        local.push_back(static_cast<std::uint32_t>(batch.keys[i] - range.begin + offset));
      offset += range.count;
    }
    batch.local.push_back(std::make_shared<const std::vector<std::uint32_t>>(std::move(local)));
  }
  return batch;
}

KeySpace make_key_space(const std::vector<ParameterArray>& arrays, const KeySpaceOptions& options) {
  if (options.servers == 0) return {.parameters = total_of(arrays), .shards = {}};
  const std::vector<PlacedRange> placed = place(arrays, options.placement, options.servers, options.seed);
  return {.parameters = total_of(arrays),
          .shards = options.unit == MessageUnit::server
                        ? by_server(placed, options.servers)
                        : by_array(placed, arrays, static_cast<std::size_t>(options.slice))};
}

}  // namespace psim

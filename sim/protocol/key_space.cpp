#include "sim/protocol/key_space.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "model/base/random.hpp"

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

// apache/mxnet, src/kvstore/kvstore_dist.h, EncodeDefaultKey: an array's key is its number; small arrays go
// whole to server (key * 9973) mod S, larger arrays are split over all servers.
std::vector<PlacedRange> kvstore(const std::vector<ParameterArray>& arrays, std::int64_t bound,
                                 std::uint32_t servers) {
  std::vector<PlacedRange> placed;
  for (std::uint64_t key = 0; key < arrays.size(); ++key) {
    const Range whole = arrays[key].range;
    if (whole.count < static_cast<std::size_t>(bound)) {
      placed.push_back({whole, static_cast<std::uint32_t>(key * 9973 % servers)});
    } else {
      for (const PlacedRange& part : even_split(whole, servers)) placed.push_back(part);
    }
  }
  return placed;
}

// Each array in turn goes to the server with the least load so far (tensorflow's
// GreedyLoadBalancingStrategy).
std::vector<PlacedRange> greedy(const std::vector<ParameterArray>& arrays, std::uint32_t servers) {
  std::vector<std::size_t> load(servers, 0);
  std::vector<PlacedRange> placed;
  for (const ParameterArray& array : arrays) {
    const auto least = static_cast<std::uint32_t>(std::ranges::min_element(load) - load.begin());
    load[least] += array.range.count;
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

__extension__ using Wide = unsigned __int128;

// The first key of each point's range.
std::vector<std::size_t> HashRing::keys_of_points(std::size_t total) const {
  std::vector<std::size_t> keys;
  for (const Point& point : points_)
    keys.push_back(static_cast<std::size_t>((static_cast<Wide>(point.place) * total) >> 64U));
  return keys;
}

// The servers backwards from the point, each server once.
std::vector<std::uint32_t> HashRing::order_at(std::size_t point) const {
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const std::uint32_t server = points_[(point + points_.size() - i) % points_.size()].server;
    if (std::ranges::find(order, server) == order.end()) order.push_back(server);
  };
  return order;
}

std::vector<RingRange> HashRing::ranges(std::size_t total) const {
  const std::vector<std::size_t> keys = keys_of_points(total);
  std::vector<RingRange> result;
  const auto add = [&](std::size_t begin, std::size_t end, std::size_t point) {
    if (begin == end) return;
    std::vector<std::uint32_t> order = order_at(point);
    if (!result.empty() && result.back().order == order) result.back().range.count += end - begin;
    else result.push_back({{begin, end - begin}, std::move(order)});
  };
  add(0, keys.front(), points_.size() - 1);  // over the ring's seam
  for (std::size_t i = 0; i < keys.size(); ++i) add(keys[i], i + 1 < keys.size() ? keys[i + 1] : total, i);
  return result;
}

void HashRing::leave(std::uint32_t server) {
  std::erase_if(points_, [&](const Point& p) { return p.server == server; });
}

std::vector<PlacedRange> HashRing::owners(std::size_t total) const {
  const std::vector<std::size_t> keys = keys_of_points(total);
  std::vector<PlacedRange> placed;
  append(placed, {{0, keys.front()}, points_[points_.size() - 1].server});  // over the ring's seam
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t end = i + 1 < keys.size() ? keys[i + 1] : total;
    append(placed, {{keys[i], end - keys[i]}, points_[i].server});
  }
  return placed;
}

namespace {

HashRing ring_of(const PlacementSpec& spec, std::uint32_t servers, std::uint64_t seed) {
  HashRing ring(seed, spec.virtual_nodes);
  for (std::uint32_t s = 0; s < servers; ++s) ring.join(s);
  return ring;
}

}  // namespace

std::vector<PlacedRange> place(const std::vector<ParameterArray>& arrays, const PlacementSpec& spec,
                               std::uint32_t servers, std::uint64_t seed) {
  switch (spec.kind) {
    case PlacementKind::even: return even_split({0, total_of(arrays)}, servers);
    case PlacementKind::kvstore: return kvstore(arrays, spec.bigarray_bound, servers);
    case PlacementKind::greedy: return greedy(arrays, servers);
    case PlacementKind::round_robin: return round_robin(arrays, servers);
    case PlacementKind::hash_ring: return ring_of(spec, servers, seed).owners(total_of(arrays));
  }
  return {};
}

namespace {

// One shard for each server with values.
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

// One shard for each piece of an array on a server, of at most `slice` values each.
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
        shards.push_back({.server = part.server,
                          .layer = array.layer,
                          .ranges = {{begin + piece.begin, piece.count}},
                          .count = piece.count});
      }
    }
  }
  return shards;
}

// One shard for each range.
std::vector<Shard> by_range(const std::vector<RingRange>& ranges, const std::vector<ParameterArray>& arrays) {
  std::vector<Shard> shards;
  for (const RingRange& one : ranges) {
    if (one.range.count == 0) continue;
    const auto array = std::ranges::find_if(
        arrays, [&](const ParameterArray& a) { return a.range.begin + a.range.count > one.range.begin; });
    shards.push_back({.server = one.order.front(),
                      .layer = array->layer,
                      .ranges = {one.range},
                      .count = one.range.count,
                      .order = one.order.size() > 1 ? one.order : std::vector<std::uint32_t>{}});
  }
  return shards;
}

std::vector<RingRange> without_order(const std::vector<PlacedRange>& placed) {
  std::vector<RingRange> ranges;
  for (const PlacedRange& part : placed) ranges.push_back({part.range, {part.server}});
  return ranges;
}

std::vector<Shard> shards_of(const std::vector<ParameterArray>& arrays, const KeySpaceOptions& options) {
  if (options.unit == MessageUnit::range && options.placement.kind == PlacementKind::hash_ring)
    return by_range(ring_of(options.placement, options.servers, options.seed).ranges(total_of(arrays)),
                    arrays);
  const std::vector<PlacedRange> placed = place(arrays, options.placement, options.servers, options.seed);
  switch (options.unit) {
    case MessageUnit::server: return by_server(placed, options.servers);
    case MessageUnit::array: return by_array(placed, arrays, static_cast<std::size_t>(options.slice));
    case MessageUnit::range: return by_range(without_order(placed), arrays);
  }
  return {};
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

void KeySpace::cut(const Cut& cut) {
  Shard& lower = shards[cut.shard];
  Shard upper = lower;
  upper.count = lower.count - cut.at;
  upper.part.range = {lower.part.range.begin + cut.at, upper.count};
  upper.ranges.clear();
  lower.count = lower.part.range.count = cut.at;
  std::size_t left = cut.at;  // values that stay below
  for (const Range& range : std::exchange(lower.ranges, {})) {
    const std::size_t below = std::min(left, range.count);
    if (below > 0) lower.ranges.push_back({range.begin, below});
    if (below < range.count) upper.ranges.push_back({range.begin + below, range.count - below});
    left -= below;
  }
  shards.push_back(std::move(upper));
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
  KeySpace space{.parameters = total_of(arrays), .shards = shards_of(arrays, options)};
  for (std::uint32_t s = 0; s < space.shards.size(); ++s)
    space.shards[s].part = {.root = s, .range = {0, space.shards[s].count}};
  return space;
}

}  // namespace psim

// The place of the parameters: named arrays in one key space (the flat weight vector). A placement
// distributes them over the servers. They are cut into shards, and each shard travels as one message.
//
// With unit = "range" each contiguous range of a server is a shard. On a ring it is the range of a virtual
// node (Li et al., OSDI 2014, section 4.2). Such a shard lists its servers in the order of the ring,
// backwards from its point. The first present server of the list owns the shard. So the owners are those of a
// ring of the present servers: the ranges of a server that leaves go to its neighbours on the ring, and
// nothing else moves.
//
// During a run shards may be cut further (scheduler/membership.hpp). The lower part keeps the number; the
// upper part gets the next free number. Both parts state their place in the shard of the plan, so a node that
// holds one shard can compare its place with that of any other shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model_spec.hpp"
#include "model/values.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/part.hpp"

namespace psim {

enum class PlacementKind { even, hash_ring, kvstore, greedy, round_robin };

struct PlacementSpec {
  PlacementKind kind = PlacementKind::even;
  std::int64_t virtual_nodes = 100;         // hash-ring: points of each server on the ring
  std::int64_t bigarray_bound = 1'000'000;  // kvstore: arrays of this size or more are split
};

// The part of the key space that travels as one message.
enum class MessageUnit { server, array, range };

// The order of the messages of one connection: all at once, or one at a time, either as they become ready or
// the first layers first (Jayarajan et al., MLSys 2019).
enum class SendOrder { parallel, fifo, priority };

// A part of the key space on one server that is pushed, pulled and versioned as a whole.
struct Shard {
  std::uint32_t server = 0;
  std::uint32_t layer = 0;    // the first layer that needs it
  std::vector<Range> ranges;  // of the key space, rising; stored one after the other
  std::size_t count = 0;      // values in all ranges
  Part part = {};             // of the shards that the plan made
  // On a ring: all servers in the order in which they own the shard. Each owns it while all servers before it
  // are absent.
  std::vector<std::uint32_t> order = {};
};

struct KeySpace {
  std::size_t parameters = 0;
  std::vector<Shard> shards;
  // Ranges of each shard, as Assembly takes them.
  std::vector<std::vector<Range>> places() const;
  // Values that each of `servers` holds.
  std::vector<std::size_t> load(std::uint32_t servers) const;
  // The server on which each shard is placed.
  std::vector<std::uint32_t> servers() const;
  // A shard becomes two.
  void cut(const Cut& cut);
};

// A key space that was cut since the plan, and its shards' ranges, as Assembly takes them.
struct Layout {
  explicit Layout(KeySpace space) : keys(std::move(space)), places(keys.places()) {}
  KeySpace keys;
  std::vector<std::vector<Range>> places;
};

// A contiguous part of the key space on a server.
struct PlacedRange {
  Range range;
  std::uint32_t server = 0;
  bool operator==(const PlacedRange&) const = default;
};
struct RingRange {
  Range range;
  std::vector<std::uint32_t> order;  // as in Shard
};

// Consistent hashing (Karger et al. 1997; Li et al., OSDI 2014): each server has several random points on a
// ring of 2^64 places and owns the places from each point to the next one. The key space lies once around the
// ring.
class HashRing {
 public:
  HashRing(std::uint64_t seed, std::int64_t virtual_nodes) : seed_(seed), virtual_nodes_(virtual_nodes) {}
  void join(std::uint32_t server);
  void leave(std::uint32_t server);
  // The owner of each part of [0, total), rising; neighbouring parts of one server are merged.
  std::vector<PlacedRange> owners(std::size_t total) const;
  // The ranges that never split when servers join or leave, rising.
  std::vector<RingRange> ranges(std::size_t total) const;

 private:
  struct Point {
    std::uint64_t place;
    std::uint32_t server;
    auto operator<=>(const Point&) const = default;
  };
  std::vector<std::size_t> keys_of_points(std::size_t total) const;
  std::vector<std::uint32_t> order_at(std::size_t point) const;

  std::uint64_t seed_;
  std::int64_t virtual_nodes_;
  std::vector<Point> points_;  // rising
};

// The owner of each part of the key space, rising.
std::vector<PlacedRange> place(const std::vector<ParameterArray>& arrays, const PlacementSpec& spec,
                               std::uint32_t servers, std::uint64_t seed);

// The keys of a batch, split by shard.
struct BatchKeys {
  Keys keys;                      // of the whole key space, rising
  Assembly::Places places;        // the places of each shard's keys in `keys`
  std::vector<SharedKeys> local;  // the keys of each shard, as positions within the shard
};
BatchKeys split(Keys keys, const KeySpace& space);

struct KeySpaceOptions {
  PlacementSpec placement;
  MessageUnit unit = MessageUnit::server;
  std::int64_t slice = 0;  // unit array: the largest number of values of a shard; 0: no limit
  std::uint32_t servers = 1;
  std::uint64_t seed = 1;
};
KeySpace make_key_space(const std::vector<ParameterArray>& arrays, const KeySpaceOptions& options);

}  // namespace psim

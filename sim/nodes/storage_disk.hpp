// The contents of the storage node's disk. They survive a crash of the node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "sim/protocol/message.hpp"

namespace psim {

struct StoredState {
  std::uint32_t epoch = 0;
  State state = {};
};

// The last snapshot that each shard's owner has sent. A snapshot from before a cut has the values of both
// parts. Its reader takes the values that it needs.
class ShardSnapshots {
 public:
  // Null if there is no snapshot.
  const StoredState* find(std::uint32_t shard) const;
  // Keeps the snapshot, unless an owner of a later epoch has sent another.
  void keep(std::uint32_t shard, const StoredState& snapshot);
  // The upper part of a cut shard gets the snapshot of the whole.
  void cut(std::uint32_t shard, std::uint32_t upper);
  // Returns whether there was any snapshot.
  bool lose() { return !std::exchange(snapshots_, {}).empty(); }

 private:
  std::map<std::uint32_t, StoredState> snapshots_;
};

// Without servers: copies of the workers' parts of the model. All workers of a group go back together, to one
// version.
class CopySnapshots {
 public:
  explicit CopySnapshots(std::size_t parts) : parts_(parts) {}

  // The group with this view number asks for its snapshots. From now on it reads the newest complete version.
  void go_back(std::uint32_t group);
  // That version of a part; null: there is none.
  const StoredState* find(std::uint32_t part) const;
  // Keeps a copy. Forgets versions older than the newest complete one, except a version that a group may be
  // reading.
  void keep(std::uint32_t part, const StoredState& copy);
  bool lose() { return !std::exchange(copies_, {}).empty(); }

 private:
  // The newest version with all its parts; -1: none.
  std::int64_t newest() const;

  std::size_t parts_;
  std::map<std::uint32_t, std::map<std::int64_t, StoredState>> copies_;  // by part and version
  std::uint32_t group_ = 0;
  std::optional<std::int64_t> used_;  // the version that it reads; none: no group has asked
};

struct StorageDisk {
  ShardSnapshots shards = {};
  CopySnapshots copies;

  // Returns whether the disk held anything.
  bool lose() {
    const bool had_copies = copies.lose();
    return shards.lose() || had_copies;
  }
};

}  // namespace psim

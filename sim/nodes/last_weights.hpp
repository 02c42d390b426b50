// The weights that the last owner of each shard had when it went down or gave up the shard.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/key_space.hpp"

namespace psim {

class LastWeights {
 public:
  explicit LastWeights(std::size_t shards) : shards_(shards) {}

  // An owner had these weights of `part`. Every shard of `keys` that lies in `part` keeps its share of them,
  // unless an owner of a later epoch had other weights.
  void keep(const KeySpace& keys, const Part& part, std::uint32_t epoch, const Slice& weights);
  // The shard keeps its first values, and the new last shard gets the others.
  void cut(const Cut& cut);

  std::size_t shards() const { return shards_.size(); }
  const Slice& of(std::uint32_t shard) const { return shards_[shard].weights; }
  std::uint32_t epoch(std::uint32_t shard) const { return shards_[shard].epoch; }

 private:
  struct Last {
    std::uint32_t epoch = 0;
    Slice weights = {};
  };
  std::vector<Last> shards_;
};

}  // namespace psim

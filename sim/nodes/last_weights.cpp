#include "sim/nodes/last_weights.hpp"

#include <utility>

namespace psim {

void LastWeights::keep(const KeySpace& keys, const Part& part, std::uint32_t epoch, const Slice& weights) {
  for (std::uint32_t s = 0; s < keys.shards.size(); ++s) {
    const Part& one = keys.shards[s].part;
    Last& last = shards_[s];
    if (part.covers(one) && epoch >= last.epoch) last = {epoch, part_of(weights, part.place_of(one))};
  }
}

void LastWeights::cut(const Cut& cut) {
  Last above = shards_[cut.shard];
  if (Slice& below = shards_[cut.shard].weights; below.count > 0) {
    above.weights = part_of(below, {cut.at, below.count - cut.at});
    below = part_of(below, {0, cut.at});
  }
  shards_.push_back(std::move(above));
}

}  // namespace psim

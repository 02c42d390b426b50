// Makes a worker's message to each shard: the shard's part of a gradient, after the filters.
#pragma once

#include <memory>
#include <vector>

#include "sim/nodes/job_context.hpp"

namespace psim {

class PushEncoder {
 public:
  PushEncoder(JobContext& job, NodeId node);

  // The weights of a shard have come. The filter kkt compares with them, and own steps begin with them.
  void received(std::uint32_t shard, const Slice& weights) {
    if (!last_weights_.empty()) last_weights_[shard] = weights;
  }
  // The shard has a new owner, which has none of the lists of keys.
  void forget_keys(std::uint32_t shard) {
    if (!filters_.empty()) filters_[shard]->forget_keys();
  }
  // Shard `cut.shard` becomes two; `keys` are the shards after the cut.
  void cut(const Cut& cut, const KeySpace& keys);
  // Encodes the shard's part of `gradient` (null for a phantom model). `gradient` has the
  // values of `batch`, or of the whole key space if `batch` is null. Only the values of `block` go into the
  // message. Spends the time that the filters cost.
  Encoded encode(std::uint32_t shard, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                 KeyRange block);

 private:
  struct Content {
    Slice values;
    SharedKeys keys;  // null: the whole shard
    Slice weights;    // of these values; set only if a filter needs them
  };
  Content part_of(std::uint32_t shard, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                  KeyRange block) const;

  JobContext& job_;
  NodeId node_;
  const KeySpace* keys_;                               // the current shards
  std::vector<std::unique_ptr<FilterChain>> filters_;  // by shard; empty without filters
  std::vector<Slice> last_weights_;                    // by shard; empty if not needed
};

}  // namespace psim

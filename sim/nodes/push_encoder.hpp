// What a worker sends each shard of a gradient: its part, gone through the filters on the way there.
#pragma once

#include <memory>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/nodes/own_steps.hpp"

namespace psim {

class PushEncoder {
 public:
  PushEncoder(JobContext& job, NodeId node);

  // These weights of a shard are here: the filter kkt compares with them, and own steps begin with them.
  void received(std::uint32_t shard, const Slice& weights) {
    if (!last_weights_.empty()) last_weights_[shard] = weights;
  }
  // The shard has a new owner, who has none of the lists of keys.
  void forget_keys(std::uint32_t shard) {
    if (!filters_.empty()) filters_[shard]->forget_keys();
  }
  // Shard `cut.shard` becomes two; `keys` are the shards after that.
  void cut(const Cut& cut, const KeySpace& keys);
  // `gradient` (null for a phantom model) has the values of `batch`, or of the whole key space if that is
  // null; only those of `block` go, in this clock. Takes the time that the filters cost.
  Encoded encode(std::uint32_t shard, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                 KeyRange block, std::int64_t clock);

 private:
  struct Content {
    Slice values;
    SharedKeys keys;  // null: of the whole shard
    Slice weights;    // that belong to the values; only if a filter wants them
  };
  Content part_of(std::uint32_t shard, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                  KeyRange block) const;

  JobContext& job_;
  NodeId node_;
  const KeySpace* keys_;                               // the shards that there are
  std::vector<std::unique_ptr<FilterChain>> filters_;  // by shard; none where messages go as they are
  std::vector<Slice> last_weights_;                    // by shard, where they are needed; else empty
  std::unique_ptr<OwnSteps> own_steps_;                // where workers make them
};

}  // namespace psim

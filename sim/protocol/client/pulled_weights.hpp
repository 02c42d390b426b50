// The weights that a client has pulled, and for a sparse model the batch of keys that they belong to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/protocol/key_space.hpp"
#include "sim/protocol/view.hpp"

namespace psim {

class PulledWeights {
 public:
  explicit PulledWeights(std::size_t shards) : shards_(shards) {}

  // From now on the client pulls and pushes only these keys, which belong to the worker's step `step`.
  void use_keys(std::shared_ptr<const BatchKeys> keys, std::int64_t step) {
    batch_ = std::move(keys);
    step_of_batch_ = step;
  }
  const std::shared_ptr<const BatchKeys>& keys() const { return batch_; }  // null: all
  SharedKeys keys_of(std::uint32_t shard) const { return batch_ ? batch_->local[shard] : nullptr; }
  // Whether the present or requested weights are those of that step.
  bool has_keys_of(std::int64_t step) const { return !batch_ || step_of_batch_ == step; }

  bool empty() const { return slices_.empty(); }
  Slice& of(std::uint32_t shard) {
    if (slices_.empty()) slices_.resize(shards_);
    return slices_[shard];
  }
  void clear() { slices_.clear(); }
  // The weights of all shards. A copy of the shards for which `stays` is true remains.
  std::vector<Slice> take(const std::function<bool(std::uint32_t)>& stays);

  // A shard becomes two. Returns false if it is unknown which of the present weights belong to which part:
  // the weights of a sparse model belong to a batch, and that is not always the current batch.
  bool cut(const Cut& cut);
  // Called after the last cut.
  void use_layout(const KeySpace& keys) {
    if (batch_) batch_ = std::make_shared<const BatchKeys>(split(batch_->keys, keys));
  }

 private:
  std::size_t shards_;
  std::vector<Slice> slices_;  // by shard; empty without weights
  std::shared_ptr<const BatchKeys> batch_;
  std::int64_t step_of_batch_ = -1;
};

}  // namespace psim

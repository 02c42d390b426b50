// The weights that a worker keeps between pulls (Bösen, Angel). It asks for a shard only if its copy lacks
// pushes that the staleness bound promises (Ho et al., NIPS 2013: a read at clock t has all pushes of clocks
// up to t - s - 1). Between pulls it applies its own pushes to the copy: read-my-writes.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/optimizer.hpp"
#include "sim/protocol/consistency.hpp"

namespace psim {

class CopyCache {
 public:
  struct Options {
    std::vector<StalenessBound> bounds = {};  // by shard; none without a cache
    std::int64_t steps = 0;                   // clocks of each worker
    // The update that a server makes of one push alone, as plain SGD.
    double share = 1;             // of the learning rate
    std::int64_t batch_size = 1;  // samples of a push that counts as one
    LearningRate learning_rate = {};
    Epochs epochs = {};
  };
  explicit CopyCache(Options options) : options_(std::move(options)), clocks_(options_.bounds.size()) {}

  bool is_on() const { return !clocks_.empty(); }
  // A shard's weights have come; they have every worker's pushes before clock `slowest`.
  void received(std::uint32_t shard, std::int64_t slowest) {
    if (is_on()) clocks_[shard] = slowest;
  }
  // The shard has another owner, and perhaps another history.
  void forget(std::uint32_t shard) {
    if (is_on()) clocks_[shard].reset();
  }
  void forget_all() { clocks_.assign(clocks_.size(), std::nullopt); }
  // The shard becomes two; the new one has the next free number.
  void cut(std::uint32_t shard);
  // Whether `clock` may start with the worker's copy. The last pull always asks for new weights, because it
  // tells the servers that the worker has finished.
  bool does(std::uint32_t shard, std::int64_t clock) const;
  // The shard's copy `weights` after this worker's own push of `samples` samples. `gradient` is the shard's
  // part of the push, without values for a phantom model.
  Slice with_own_push(const Slice& weights, const Slice& gradient, std::int64_t clock,
                      std::int64_t samples) const;

 private:
  Options options_;
  std::vector<std::optional<std::int64_t>> clocks_;  // by shard; none: no copy
};

}  // namespace psim

// A client that runs the optimizer itself, on the sums that servers send.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/optimizer.hpp"
#include "model/parameters.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

class OptimizerCopies {
 public:
  struct Options {
    OptimizerSpec optimizer = {};
    Storage storage = {};
    LearningRate learning_rate = {};
    Epochs epochs = {};
  };
  OptimizerCopies(Options options, std::size_t shards) : options_(std::move(options)), copies_(shards) {}

  // Takes an answer: the first weights, another worker's copy, the sum that makes the next version, or
  // nothing if the client already has that version. `weights`: the client's weights of the shard, which has
  // `count` values.
  void take(std::uint32_t shard, Answer&& answer, std::uint32_t epoch, std::size_t count, Slice& weights);
  std::int64_t version(std::uint32_t shard) const { return copies_[shard].version; }
  // For a server that needs this worker's copy for another worker, or has lost the shard.
  State lend(std::uint32_t shard, const Restore& request, std::size_t count) const;
  // The shard becomes two; the new one has the next free number.
  void cut(std::uint32_t shard) { copies_.push_back(WorkerCopy(copies_[shard])); }

 private:
  struct WorkerCopy {
    std::int64_t version = -1;
    std::uint32_t epoch = 0;  // of the owner that made it, or showed it
    std::shared_ptr<Parameters> parameters = {};
  };
  void update(WorkerCopy& copy, const Slice& sum, std::int64_t version, Slice& weights);

  Options options_;
  std::vector<WorkerCopy> copies_;  // by shard
};

}  // namespace psim

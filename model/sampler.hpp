// Which samples a worker gets in each step.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/data_spec.hpp"

namespace psim {

struct Dataset;

// `iid`: every epoch the whole training set is shuffled again and dealt out: in step t, worker w takes
// samples [(t*W + w)*b, (t*W + w + 1)*b) of the endless sequence of shuffled epochs. So W workers with
// batches of b get exactly the samples of one worker with batches of W*b, and no samples remain at an epoch's
// end. The other partitions give every worker a fixed shard, which it shuffles by itself each epoch.
class Sampler {
 public:
  struct Options {
    Partition partition = Partition::iid;
    double dirichlet_alpha = 0.5;
    std::uint32_t workers = 1;
    std::int64_t batch = 32;
    std::uint64_t seed = 1;
  };
  // Throws DataError if the number of samples is too small to give each worker a shard.
  Sampler(const Dataset& train, Options options);

  // Sample indices of worker `worker`'s batch number `step`; always `batch` of them, across the end of an
  // epoch if necessary. Steps may come in any order. Not thread-safe: the orders of the last used epochs are
  // cached.
  std::vector<std::uint32_t> batch(std::uint32_t worker, std::int64_t step);
  // `count` samples from `position` on of the endless sequence of worker `worker`: for iid the shared
  // sequence, otherwise the worker's own. With `members`, by worker, the members share the shards of all
  // other workers.
  std::vector<std::uint32_t> samples(std::uint32_t worker, std::int64_t position, std::int64_t count,
                                     const std::vector<bool>& members = {});

  // The samples that worker `worker` then gets; empty for iid, where it gets all samples.
  const std::vector<std::uint32_t>& part(std::uint32_t worker, const std::vector<bool>& members) {
    return shard_among(worker, members);
  }

  // The fixed shard (empty for iid).
  const std::vector<std::uint32_t>& shard(std::uint32_t worker) const { return shards_[worker]; }

 private:
  using Shard = std::vector<std::uint32_t>;
  struct Epoch {
    std::int64_t number = -1;
    const Shard* shard = nullptr;
    std::vector<std::uint32_t> order;
  };
  const std::vector<std::uint32_t>& order(std::uint32_t stream, std::int64_t epoch, const Shard& shard);
  const Shard& shard_among(std::uint32_t worker, const std::vector<bool>& members);

  Options options_;
  std::uint32_t samples_;
  std::vector<Shard> shards_;
  std::map<std::vector<bool>, std::vector<Shard>> shared_out_;  // by the members
  // Per stream the last used epochs, the latest first. For iid all workers share stream 0.
  std::vector<std::vector<Epoch>> epochs_;
};

}  // namespace psim

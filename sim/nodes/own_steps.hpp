// Where workers run the optimizer and do not see every update: each makes a step of its own from the weights
// that it pulled, and pushes what moved. Servers add that to the weights (BytePS with BYTEPS_ENABLE_ASYNC;
// Dean et al., NIPS 2012, push gradients instead). A worker that comes back begins with a new optimizer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/optimizer.hpp"
#include "sim/nodes/job_plan.hpp"

namespace psim {

class OwnSteps {
 public:
  explicit OwnSteps(const JobPlan& plan) : plan_(plan), optimizers_(plan.keys.shards.size()) {}

  // From `weights` of a shard by `gradient`, in this clock: the weights before less those after it. Of a
  // phantom model what comes in.
  Slice step(std::uint32_t shard, const Slice& weights, const Slice& gradient, std::int64_t clock);

 private:
  const JobPlan& plan_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;  // by shard, with what they keep between steps
};

}  // namespace psim

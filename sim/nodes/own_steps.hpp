// For workers that run the optimizer and do not see every update. Each worker makes its own step from the
// weights that it pulled, and pushes the difference. Servers add the difference to the weights (BytePS with
// BYTEPS_ENABLE_ASYNC; Dean et al., NIPS 2012, push gradients instead). A worker that comes back begins with
// a new optimizer.
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

  // Makes a step from a shard's `weights` with `gradient` in this clock. Returns the weights before minus the
  // weights after the step. Returns `gradient` for a phantom model.
  Slice step(std::uint32_t shard, const Slice& weights, const Slice& gradient, std::int64_t clock);

 private:
  const JobPlan& plan_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;  // by shard, with their state between steps
};

}  // namespace psim

// Elastic averaging (Zhang, Choromanska, LeCun, NIPS 2015, algorithm 1): the worker walks on its own weights,
// and in each step these and the servers' centre move towards each other. What is pushed is that move.
#pragma once

#include "sim/nodes/gradient_task.hpp"
#include "sim/nodes/step.hpp"

namespace psim {

class ElasticStep final : public Step {
 public:
  explicit ElasticStep(StepContext& context) : step_(context), task_(context.job) {}

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  bool compute() override;
  Timestamp push() override { return pushed_; }

 private:
  void pull_to_centre();

  StepContext& step_;
  GradientTask task_;
  Timestamp pushed_ = 0;
};

}  // namespace psim

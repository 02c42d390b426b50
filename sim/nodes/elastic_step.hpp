// Elastic averaging (Zhang, Choromanska, LeCun, NIPS 2015, algorithm 1). The worker trains its own weights.
// In each step these weights and the servers' centre move towards each other. The worker pushes this move.
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

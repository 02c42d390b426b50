// The step of Li et al. 2014. It begins when all weights are here, computes one gradient, and pushes the
// finished gradient. With late = "cancel" it stops as soon as its push would be too late.
#pragma once

#include "sim/nodes/gradient_task.hpp"
#include "sim/nodes/step.hpp"

namespace psim {

class GradientStep final : public Step {
 public:
  explicit GradientStep(StepContext& context) : step_(context), task_(context.job) {}

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  bool compute() override;
  Timestamp push() override;
  void on_arrival(const Message& message) override;

 private:
  StepContext& step_;
  GradientTask task_;
};

}  // namespace psim

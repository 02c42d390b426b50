// A step that computes and communicates at the same time, layer by layer: a layer's forward pass begins when
// its weights are here, and its gradient is pushed when its backward pass is done. In a clock of several
// batches that is the first one's forward and the last one's backward pass.
#pragma once

#include <vector>

#include "sim/roles/gradient_task.hpp"
#include "sim/roles/step.hpp"

namespace psim {

class OverlapStep final : public Step {
 public:
  explicit OverlapStep(StepContext& context);

  const ShardIds& needs() const override { return layers_.front().shards; }
  bool compute() override;
  Timestamp push() override;

 private:
  struct Layer {
    ShardIds shards;
    double forward, backward;  // shares of the step's work
    double copy;               // of its weights, or its gradients, in seconds
  };
  void await(const ShardIds& shards);
  void spend(double flops, double copy);
  void push(const Layer& layer, const std::shared_ptr<Values>& gradient);

  StepContext& step_;
  std::vector<Layer> layers_;
  GradientTask task_;
  Timestamp pushed_ = 0;
};

}  // namespace psim

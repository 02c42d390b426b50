// A step that computes and communicates at the same time, layer by layer: a layer's forward pass begins when
// its weights are here, and its gradient is pushed when its backward pass is done. In a clock of several
// batches that is the first one's forward and the last one's backward pass. A layer's weights for the next
// step are asked for when its gradient is pushed (ByteScheduler: Peng et al., SOSP 2019; P3: Jayarajan et
// al., MLSys 2019), so that they come while the layers in front of it are still computed.
#pragma once

#include <vector>

#include "sim/nodes/gradient_task.hpp"
#include "sim/nodes/step.hpp"

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
  bool pulls_ahead_;
  std::vector<Layer> layers_;
  GradientTask task_;
  Timestamp pushed_ = 0;
};

}  // namespace psim

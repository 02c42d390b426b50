// A step that computes and communicates at the same time, layer by layer. The forward pass of a layer begins
// when its weights are here. The worker pushes the layer's gradient when its backward pass is done. In a
// clock of several batches this means the first batch's forward pass and the last batch's backward pass. When
// the worker pushes a layer's gradient, it also requests the layer's weights for the next step
// (ByteScheduler: Peng et al., SOSP 2019; P3: Jayarajan et al., MLSys 2019). So they come while the worker
// still computes the layers in front.
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
    double copy;               // seconds to copy its weights or its gradients
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

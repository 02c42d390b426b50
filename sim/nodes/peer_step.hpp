// The step of a worker that has the whole model itself: its batches, its gradient, and the time that this
// takes.
#pragma once

#include <memory>
#include <vector>

#include "sim/nodes/batch_source.hpp"
#include "sim/nodes/gradient_task.hpp"
#include "sim/nodes/peers.hpp"
#include "sim/nodes/strand.hpp"
#include "sim/protocol/buckets.hpp"

namespace psim {

class PeerStep {
 public:
  PeerStep(JobContext& job, NodeId node, Mailbox& mailbox);

  // What is summed at once, in this order: the whole gradient, or with overlap its buckets.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  // The worker takes part in a group of these, with step `clock`. `goes_on`: the others have begun.
  void join(const std::vector<std::uint32_t>& members, const SharedView& view, std::int64_t clock,
            bool goes_on);

  // Waits for the batches of step `clock`, and begins with it on the replica's weights. Without overlap it is
  // computed then.
  void begin(std::int64_t clock, const Replica& replica);
  // Waits until the gradients of a bucket are there. They count by the samples that they are made of.
  void wait_for(std::size_t bucket);
  // Null for a phantom model.
  const std::shared_ptr<Values>& gradient() const { return gradient_; }
  // The step is computed.
  void finish();
  // Nobody wants it any more.
  void give_up();

  BatchSource& source() { return source_; }
  const BatchSource& source() const { return source_; }
  Strand& strand() { return strand_; }

 private:
  std::vector<Strand::Block> blocks() const;
  void record(ComputePhase phase, std::optional<std::int64_t> samples = {});
  void weigh();

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  Mailbox& mailbox_;
  Requests requests_;
  BatchSource source_;
  Strand strand_;
  std::unique_ptr<GradientTask> task_;
  std::vector<Bucket> buckets_;
  bool overlaps_;
  double mean_size_ = 0;  // of the group's batches
  // Of the step in hand.
  std::int64_t clock_ = 0, batch_size_ = 0;
  std::shared_ptr<Values> gradient_;
};

}  // namespace psim

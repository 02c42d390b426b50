// The step of a worker that holds the whole model: its batches, its gradient, and its computing time.
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

  // The ranges that one all-reduce sums, in this order: the whole gradient, or, with overlap, its buckets.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  // The worker joins a group with these members and begins with step `clock`. `goes_on`: the others have
  // begun.
  void join(const std::vector<std::uint32_t>& members, const SharedView& view, std::int64_t clock,
            bool goes_on);

  // Waits for the batches of step `clock`, and begins the step on the replica's weights. Without overlap it
  // returns when the step is computed.
  void begin(std::int64_t clock, const Replica& replica);
  // Waits until the gradients of a bucket are there. They are weighted by their number of samples.
  void wait_for(std::size_t bucket);
  // Null for a phantom model.
  const std::shared_ptr<Values>& gradient() const { return gradient_; }
  // The update has used the step's gradient.
  void finish();
  // The group has given up the step.
  void give_up();
  // The worker has another copy of the model: its own optimizer begins anew.
  void forget() { task_.local() = {}; }
  // Of the group's sum in an update.
  double weight_of_sum() const { return weight_of_sum_; }

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
  GradientTask task_;
  std::vector<Bucket> buckets_;
  bool overlaps_;
  double mean_size_ = 0;  // mean size of the group's batches
  double divisor_ = 1, weight_of_sum_ = 1;
  // The current step.
  std::int64_t clock_ = 0, batch_size_ = 0;
  std::shared_ptr<Values> gradient_;
};

}  // namespace psim

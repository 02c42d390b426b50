// Data parallelism without servers: every worker holds the whole model, and the gradients are summed by an
// all-reduce (sim/nodes/reduction.hpp) among the workers. What a worker computes between two of them is what
// a worker of servers computes between a pull and a push (sim/nodes/local_work.hpp): several batches, or
// several steps on its own copy, the sum of whose gradients is that copy's way, so that all copies become
// their mean.
//
// With overlap the gradient is summed in buckets, last layers first, while the backward pass goes on: one
// all-reduce after the other, in the same order everywhere, as in the one stream of NCCL that PyTorch's
// DistributedDataParallel uses.
//
// When a worker is lost (recovery.workers):
// - wait: the others wait for its parts, as NCCL does. Its copy of the model and its sums are gone, so they
//   wait for ever.
// - remove: the scheduler's next view makes a new group of those that are there, as in Horovod Elastic and
//   torchft. They give up the step in hand. Some may have done it, so they agree on the newest copy
//   (Standing, Regroup), and its holder sends it to those that have an older one or none. Then they do the
//   next step, by the mean of the gradients that there are. A worker that comes back, or comes late, makes a
//   new group too, and so does one that leaves after its step in hand. With lost_data = "reassign" a group
//   shares out all samples.
// - restart: nobody works until all are there. If one has lost its copy all read the last snapshot, or begin
//   anew without one, as a job does that is started again. The disk may be lost when only some have read
//   it, so they meet after that, and begin anew if they have not read the same.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/nodes/peer_step.hpp"
#include "sim/nodes/peers.hpp"
#include "sim/nodes/reduction.hpp"

namespace psim {

class AllReduceWorker {
 public:
  AllReduceWorker(JobContext& job, const Peers& peers, std::uint32_t index, const Values* weights);

  void run();
  // What it had is gone. Its copy is only looked at, where there is no other.
  void lose();
  Mailbox& mailbox() { return mailbox_; }
  const Mailbox& mailbox() const { return mailbox_; }
  const Replica& replica() const { return replica_; }
  bool has_copy() const { return has_copy_; }
  std::int64_t made_in() const { return made_in_; }
  const BatchSource& source() const { return step_.source(); }

 private:
  bool train(const SharedView& view);
  void begin_anew();
  enum class Round : std::uint8_t { agreeing, at_end, after_reading };
  bool meet(Round number);
  bool regroups(const SharedView& view) const;
  void make_sums();
  void update();
  void take_snapshot();
  // Of the view's workers; they agree on a copy if others have begun.
  void form_group(const SharedView& view, bool goes_on);
  void agree();
  void read_snapshot();
  void adopt(const State& state);
  State copy() const;
  NodeId node_of(std::uint32_t rank) const { return job_.plan.first_worker() + group_.members[rank]; }

  JobContext& job_;
  const Peers& peers_;
  NodeId node_;
  std::uint32_t index_;
  PeerGroup group_;
  std::int64_t group_view_ = 0;  // its number
  Replica replica_;
  bool has_copy_ = true;      // and has not lost it
  std::int64_t made_in_ = 0;  // the view of the group that did the last step of the copy
  Mailbox mailbox_;
  PeerStep step_;
  std::deque<Reduction> sums_;  // of the step's buckets
  std::int64_t clock_ = 0;      // of the step in hand
  std::int64_t snapshots_ = 0;  // that have been due
};

class AllReduce final : public Peers {
 public:
  AllReduce(JobContext& job, const Values* weights);
  void run(std::uint32_t index) override { workers_[index]->run(); }
  void on_arrival(const Message& message) override;
  std::vector<Slice> weights() const override { return {common().weights()}; }
  std::int64_t version() const override { return common().version(); }
  void lose(std::uint32_t index) override;
  std::int64_t view(std::uint32_t index) const override { return workers_[index]->mailbox().view(); }
  std::int64_t samples_computed(std::uint32_t index) const override {
    return workers_[index]->source().samples_computed();
  }
  std::int64_t batch_size(std::uint32_t index) const override {
    return workers_[index]->source().last_batch_size();
  }
  std::vector<std::string> who_waits() const override;
  bool agree() const override;

 private:
  const Replica& common() const;

  JobContext& job_;
  std::vector<std::unique_ptr<AllReduceWorker>> workers_;
};

}  // namespace psim

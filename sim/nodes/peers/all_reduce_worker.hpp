// Data parallelism without servers. Every worker holds the whole model, and an all-reduce (Reduction) among
// the workers sums the gradients. Between two all-reduces a worker computes the same work as a worker of
// servers between a pull and a push (sim/nodes/worker/local_work.hpp): several batches, or several steps on
// its own copy. In the second case the sum of the gradients is the move of that copy, so all copies become
// their mean.
//
// With overlap the workers sum the gradient in buckets, last layers first, while the backward pass goes on.
// One all-reduce follows the other, in the same order on every worker, as in the single NCCL stream of
// PyTorch's DistributedDataParallel.
//
// The effect of a lost worker (recovery.workers):
// - wait: the other workers wait for its parts, as NCCL does. Its copy of the model and its sums are gone, so
//   they wait for ever.
// - remove: the scheduler's next view makes a new group of the remaining workers, as in Horovod Elastic and
//   torchft. They give up the current step. Some workers may already have finished this step, so the group
//   agrees on the newest copy (Standing, Regroup). The holder of this copy sends it to the workers that have
//   an older copy or none. Then the group does the next step with the mean of its gradients. A worker that
//   comes back or comes late also makes a new group. So does a worker that leaves after its current step.
//   With lost_data = "reassign" the group shares out all samples.
// - restart: no worker computes until all are there. If a worker has lost its copy, all workers read the last
//   snapshot. Without a snapshot they begin anew, as a restarted job does. The disk may be lost when only
//   some workers have read the snapshot. So the workers meet after the read, and begin anew if they have read
//   different versions.
#pragma once

#include <simgrid/forward.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/peers/mailbox.hpp"
#include "sim/nodes/peers/peers.hpp"
#include "sim/nodes/worker/batch_source.hpp"
#include "sim/nodes/worker/gradient_task.hpp"
#include "sim/protocol/all_reduce.hpp"

namespace psim {

// A worker's computing in parallel to its messages: a separate actor computes while the worker's actor takes
// part in all-reduces.
class Strand {
 public:
  Strand(JobContext& job, NodeId node, Mailbox& mailbox)
      : job_(job), node_(node), mailbox_(mailbox), processor_(job, node) {}

  struct Block {
    double flops, copy;  // operations, and seconds of copies before them
  };
  // Computes the block in the calling actor.
  void compute(const Block& block);
  // Computes the blocks one after the other, in parallel to the calling actor. Calls `ended` at the end of
  // the last block.
  void start(std::vector<Block> blocks, std::function<void()> ended);
  // Waits until the first `blocks` of them are done.
  void wait_for(std::size_t blocks, std::int64_t clock);
  // Spends the time of the filters on the same processor.
  void filter(double flops);
  bool is_running() const { return runs_; }
  // Stops without computing the remaining blocks.
  void stop();

  Processor& processor() { return processor_; }

 private:
  void run(const std::vector<Block>& blocks, const std::function<void()>& ended);
  void record_filter(ComputePhase phase);

  JobContext& job_;
  NodeId node_;
  Mailbox& mailbox_;
  Processor processor_;
  simgrid::s4u::ActorPtr actor_;
  std::size_t done_ = 0;  // blocks
  bool runs_ = false, filters_ = false;
};

// Sums the gradients of one range of the model over a group of workers: the rounds of
// sim/protocol/all_reduce.hpp over the network, with filters on gradients. docs/all_reduce.md lists the
// bytes.
//
// Decisions:
// - A filter that quantises or compresses bytes works on each partial sum. The sender encodes the sum. The
//   receiver decodes it, adds it to its own sum, and encodes the result. The first worker with a whole sum
//   encodes it once more, and takes the values that all others will read. The others pass its code on
//   unchanged. So all copies of the model stay equal.
// - So a worker encodes every value once per step, in a partial or a whole sum. It adds the error of this
//   code to the same value in the next step (error feedback), whichever worker's gradient the value came
//   from.
// - A filter that selects works on each worker's gradient, once, with error feedback on that worker. All
//   workers gather all gradients and add them in the order of their ranks, because sums would not stay
//   sparse.
// - A group of one sends nothing, so its filters do nothing.
// - A new group begins without the errors of earlier steps, because they belong to a step that was given up.

// The workers that sum their gradients.
struct PeerGroup {
  std::vector<std::uint32_t> members = {};  // workers by rank
  std::uint32_t rank = 0;                   // of this worker
  std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
};

class Reduction {
 public:
  // Rounds are numbered from `first_round` on. All arguments must live as long as this object.
  Reduction(JobContext& job, Mailbox& mailbox, Strand& strand, const PeerGroup& group, Range range,
            std::int64_t first_round);
  // More rounds than one reduction takes.
  static std::int64_t rounds_of(const PeerGroup& group) { return 2 * std::int64_t{group.size()} + 2; }

  // Replaces this range of `gradient` by the group's sum; null for a phantom model. `weights`: those of the
  // whole model.
  void run(std::int64_t clock, const Slice& weights, const std::shared_ptr<Values>& gradient);

 private:
  std::unique_ptr<FilterChain> chain_of(Range range) const;
  Range range_of(Chunks chunks) const;
  Payload coded(FilterChain* chain, Range range);
  void send(NodeId to, std::int64_t round, Payload sum,
            std::shared_ptr<const std::vector<Payload>> gradients = {});
  void exchange(std::size_t number);
  void receive(const Exchange& round, const Payload& sum);
  Payload whole_sum(Chunks chunks) const;
  void code_sum(Chunks own);
  void note_bytes(Chunks chunks, std::uint64_t bytes);
  void add(const Slice& part, std::size_t begin);
  void gather();
  NodeId node_of(std::uint32_t rank) const { return job_.plan.first_worker() + group_.members[rank]; }
  std::uint64_t plain_bytes(Range range) const {
    return range.count * bytes_per_value(job_.plan.precision());
  }

  JobContext& job_;
  Mailbox& mailbox_;
  Strand& strand_;
  const PeerGroup& group_;
  Range range_;
  std::int64_t first_round_;
  std::vector<FilterSpec> filters_;
  bool gathers_;
  std::vector<Exchange> rounds_;  // between ranks
  std::size_t first_whole_ = 0;   // the first round with whole sums
  std::uint32_t chunks_ = 1;
  std::vector<std::unique_ptr<FilterChain>> chains_;  // by round: for the partial sums that are sent
  // For the sums that this worker completes first, or for its gradient.
  std::unique_ptr<FilterChain> whole_;
  std::vector<std::uint64_t> coded_;  // by chunk: bytes of the sums
  // The current sum.
  std::int64_t clock_ = 0;
  Slice weights_;
  std::shared_ptr<Values> gradient_;
};

// The step of a worker that holds the whole model: its batches, its gradient, and its computing time.
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

class AllReduceWorker {
 public:
  AllReduceWorker(JobContext& job, const Peers& peers, std::uint32_t index, const Values* weights);

  void run();
  // The worker has lost its data. psim reads its copy only if there is no other copy.
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
  // The group of the view's workers. They agree on a copy if others have begun.
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
  std::int64_t group_view_ = 0;  // number of the view
  Replica replica_;
  bool has_copy_ = true;      // false after a crash
  std::int64_t made_in_ = 0;  // the view of the group that made the copy's last step
  Mailbox mailbox_;
  PeerStep step_;
  std::deque<Reduction> sums_;  // one per bucket of the step
  std::int64_t clock_ = 0;      // current step
  std::int64_t snapshots_ = 0;  // number of due snapshots so far
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

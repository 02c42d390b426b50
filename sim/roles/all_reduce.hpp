// Data parallelism without servers: every worker holds the whole model, and the gradients are summed by an
// all-reduce (sim/protocol/all_reduce.hpp) among the workers.
//
// When a worker is lost (recovery.workers):
// - wait: the others wait for its parts, as NCCL does. Its copy of the model and its sums are gone, so they
//   wait for ever.
// - remove: the scheduler's next view makes a new group of those that are there, as in Horovod Elastic and
//   torchft. They give up the step in hand. Some may have done it, so they agree on the newest copy
//   (Standing, Regroup), and its holder sends it to those that have an older one or none. Then they do the
//   next step, by the mean of the gradients that there are. A worker that comes back, or comes late, makes a
//   new group too.
// - restart: nobody works until all are there. If one has lost its copy all read the last snapshot, or begin
//   anew without one, as a job does that is started again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/protocol/all_reduce.hpp"
#include "sim/roles/peers.hpp"

namespace psim {

class AllReduceWorker {
 public:
  AllReduceWorker(JobContext& job, std::uint32_t index, const Values* weights);

  void run();
  // What it had is gone. Its copy is only looked at, where there is no other.
  void lose();
  Mailbox& mailbox() { return mailbox_; }
  const Mailbox& mailbox() const { return mailbox_; }
  const Replica& replica() const { return replica_; }
  bool has_copy() const { return has_copy_; }
  std::int64_t samples() const { return samples_; }

 private:
  void train();
  void compute_gradient();
  void exchange(const Exchange& round);
  void update();
  void take_snapshot();
  // Of the view's workers; they agree on a copy if others have begun.
  void form_group(const SharedView& view, bool goes_on);
  void agree();
  void read_snapshot();
  void adopt(const State& state);
  State copy() const;
  NodeId node_of(std::uint32_t rank) const { return job_.plan.first_worker() + members_[rank]; }

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  std::vector<std::uint32_t> members_;  // of the group, by rank: workers
  std::uint32_t rank_ = 0;              // of this one
  std::vector<Exchange> rounds_;        // between ranks
  Replica replica_;
  bool has_copy_ = true;  // and has not lost it
  Mailbox mailbox_;
  std::int64_t clock_ = 0;            // of the step in hand
  std::int64_t samples_ = 0;          // computed
  std::int64_t snapshots_ = 0;        // that have been due
  std::shared_ptr<Values> gradient_;  // becomes the sum of all workers' gradients
};

class AllReduce final : public Peers {
 public:
  AllReduce(JobContext& job, const Values* weights);
  void run(std::uint32_t index) override { workers_[index]->run(); }
  void on_arrival(const Message& message) override;
  std::vector<Slice> weights() const override;
  void lose(std::uint32_t index) override { workers_[index]->lose(); }
  std::int64_t view(std::uint32_t index) const override { return workers_[index]->mailbox().view(); }
  std::int64_t samples_computed(std::uint32_t index) const override { return workers_[index]->samples(); }
  std::vector<std::string> who_waits() const override;

 private:
  JobContext& job_;
  std::vector<std::unique_ptr<AllReduceWorker>> workers_;
};

}  // namespace psim

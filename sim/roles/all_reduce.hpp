// Data parallelism without servers: every worker holds the whole model, and the gradients are summed by an
// all-reduce (sim/protocol/all_reduce.hpp) among the workers.
#pragma once

#include <simgrid/s4u/Semaphore.hpp>

#include <memory>
#include <vector>

#include "sim/protocol/all_reduce.hpp"
#include "sim/roles/peers.hpp"

namespace psim {

class AllReduceWorker {
 public:
  AllReduceWorker(JobContext& job, std::uint32_t index, const Values* weights);

  void run();
  // A chunk of this worker has arrived where it was sent to.
  void sent() { sent_->release(); }
  const Replica& replica() const { return replica_; }

 private:
  void compute_gradient();
  void exchange(const Exchange& round);
  void update();

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  std::vector<Exchange> rounds_;
  Replica replica_;
  Mailbox mailbox_;
  simgrid::s4u::SemaphorePtr sent_;
  std::int64_t clock_ = 0;            // of the step in hand
  std::shared_ptr<Values> gradient_;  // becomes the sum of all workers' gradients
};

class AllReduce final : public Peers {
 public:
  AllReduce(JobContext& job, const Values* weights);
  void run(std::uint32_t index) override { workers_[index]->run(); }
  void on_arrival(const Message& message) override;
  std::vector<Slice> weights() const override;

 private:
  NodeId first_worker_;
  std::vector<std::unique_ptr<AllReduceWorker>> workers_;
};

}  // namespace psim

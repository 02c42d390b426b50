// Architectures without servers: the workers hold the model, and communicate with each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/nodes/job/job_context.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/peers/mailbox.hpp"

namespace psim {

// All workers of one run.
class Peers {
 public:
  explicit Peers(std::uint32_t workers) : leaving_(workers) {}
  virtual ~Peers() = default;
  // The body of worker `index`'s actor.
  virtual void run(std::uint32_t index) = 0;
  // A message has arrived at a node. Runs in the simulation kernel.
  virtual void on_arrival(const Message& message) = 0;
  // The model, in one or more parts, as far as all workers have updated it, and its version. If the parts
  // have different versions, the model has the least of them.
  virtual std::vector<Slice> weights() const = 0;
  virtual std::int64_t version() const = 0;
  // Worker `index` has crashed and lost its data.
  virtual void lose(std::uint32_t index) = 0;
  // The newest view that the worker knows; -1: none.
  virtual std::int64_t view(std::uint32_t index) const = 0;
  // Includes the worker's computations before crashes.
  virtual std::int64_t samples_computed(std::uint32_t index) const = 0;
  // The last batch size of a worker.
  virtual std::int64_t batch_size(std::uint32_t index) const = 0;
  // Lines that say which worker waits for which node. They are for a run that can make no more progress.
  virtual std::vector<std::string> who_waits() const = 0;
  // Whether all workers that have done all their steps have the same model.
  virtual bool agree() const { return true; }

  // The worker leaves after its current step.
  void leave_soon(std::uint32_t index) { leaving_[index] = true; }
  bool is_leaving(std::uint32_t index) const { return leaving_[index]; }

 protected:
  void stays(std::uint32_t index) { leaving_[index] = false; }

 private:
  std::vector<bool> leaving_;
};

// `weights`: the whole initial model, none for a phantom model. See all_reduce_worker.hpp and
// pipeline_worker.hpp.
std::unique_ptr<Peers> make_peers(JobContext& job, const Values* weights);

// A worker's copy of the model, or of a part of it, and the optimizer that updates it.
class Replica {
 public:
  // `initial`: the whole model, from which the replica takes `range`; none for a phantom model.
  Replica(const JobContext& job, const Values* initial, Range range);

  // One step of the optimizer with `weight` times the range's gradient.
  void update(Slice gradient, double weight);

  Slice weights() const { return {parameters_.weights(), 0, range_.count, version_}; }
  Range range() const { return range_; }
  std::int64_t version() const { return version_; }

  // Takes a copy of another worker or of the storage. An empty state means the first weights.
  void adopt(const State& state);
  std::shared_ptr<const Parameters> content() const {
    return std::make_shared<const Parameters>(parameters_);
  }
  std::uint64_t bytes() const;  // on the network: weights and the optimizer's state

 private:
  const JobContext& job_;
  Range range_;
  Parameters parameters_, first_;  // first_: in version 0
  LearningRate rate_;
  std::int64_t version_ = 0;
};

// The beginning and end of a node's work. `completes`: it has done all its steps.
Start enter(JobContext& job, NodeId node, Mailbox& mailbox);
void leave(JobContext& job, NodeId node, std::int64_t clock, Mailbox& mailbox, bool completes = true);
// The workers of a group wait for each other: the first of `nodes` gets a message from all, and answers.
// `round`: the number of this meeting in the group. With `must_agree`, it returns false to all workers if
// they do not have the same version.
bool meet(Mailbox& mailbox, std::span<const NodeId> nodes, std::int64_t version, std::int64_t round,
          bool must_agree = false);
// Whether each worker is there or has finished its steps.
bool is_whole(const JobContext& job, const SharedView& view);
// For example "at 2 s worker 2 waits for worker 1 to send its chunk of step 12"; empty if the worker does not
// wait or is down.
std::string waits_for(const JobContext& job, const Mailbox& mailbox);

}  // namespace psim

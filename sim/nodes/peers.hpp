// Architectures without servers: the workers hold the model, and talk to each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/nodes/mailbox.hpp"
#include "sim/nodes/processor.hpp"

namespace psim {

// All workers of one run.
class Peers {
 public:
  explicit Peers(std::uint32_t workers) : leaving_(workers) {}
  virtual ~Peers() = default;
  // The body of worker `index`'s actor.
  virtual void run(std::uint32_t index) = 0;
  // A message has arrived somewhere. Runs in the simulation kernel.
  virtual void on_arrival(const Message& message) = 0;
  // The model, in one part or more, as far as all workers have updated it, and its version: of parts with
  // several ones the least.
  virtual std::vector<Slice> weights() const = 0;
  virtual std::int64_t version() const = 0;
  // Worker `index` has crashed: what it had is gone.
  virtual void lose(std::uint32_t index) = 0;
  // The newest view that it knows; -1: none.
  virtual std::int64_t view(std::uint32_t index) const = 0;
  // By all the worker's lives.
  virtual std::int64_t samples_computed(std::uint32_t index) const = 0;
  // The last one of a worker.
  virtual std::int64_t batch_size(std::uint32_t index) const = 0;
  // Who waits for whom, for a run that can go on no more.
  virtual std::vector<std::string> who_waits() const = 0;
  // Whether all that have done all their steps have the same model.
  virtual bool agree() const { return true; }

  // After the step in hand.
  void leave_soon(std::uint32_t index) { leaving_[index] = true; }
  bool is_leaving(std::uint32_t index) const { return leaving_[index]; }

 protected:
  void stays(std::uint32_t index) { leaving_[index] = false; }

 private:
  std::vector<bool> leaving_;
};

// `weights`: the whole initial model, none for a phantom. See all_reduce_worker.hpp and pipeline_worker.hpp.
std::unique_ptr<Peers> make_peers(JobContext& job, const Values* weights);

// A worker's copy of the model, or of a part of it, and the optimizer that updates it.
class Replica {
 public:
  // `initial`: the whole model, of which `range` is taken; none for a phantom.
  Replica(const JobContext& job, const Values* initial, Range range);

  // One step of the optimizer with `weight` times the range's gradient.
  void update(Slice gradient, double weight);

  Slice weights() const { return {parameters_.weights(), 0, range_.count, version_}; }
  Range range() const { return range_; }
  std::int64_t version() const { return version_; }

  // What another worker, or the storage, has of it. A state without anything: the first weights.
  void adopt(const State& state);
  std::shared_ptr<const Parameters> content() const {
    return std::make_shared<const Parameters>(parameters_);
  }
  std::uint64_t bytes() const;  // on the network: weights, and the optimizer's state

 private:
  const JobContext& job_;
  Range range_;
  Parameters parameters_, first_;  // first_: in version 0
  LearningRate rate_;
  std::int64_t version_ = 0;
};

// A node's life around its work. `completes`: it has done all its steps.
Start enter(JobContext& job, NodeId node, Mailbox& mailbox);
void leave(JobContext& job, NodeId node, std::int64_t clock, Mailbox& mailbox, bool completes = true);
// Workers of a group wait for each other: the first of `nodes` hears from all, and answers. `round`: which of
// the group's meetings. False, for all of them, if they must have the same version and do not.
bool meet(Mailbox& mailbox, std::span<const NodeId> nodes, std::int64_t version, std::int64_t round,
          bool must_agree = false);
// Whether all workers are there, or through with their steps.
bool is_whole(const JobContext& job, const SharedView& view);
// "at 2 s worker 2 waits for worker 1 to send its chunk of step 12"; empty: it does not wait, or is down.
std::string waits_for(const JobContext& job, const Mailbox& mailbox);

}  // namespace psim

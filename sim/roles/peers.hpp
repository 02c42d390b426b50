// Architectures without servers: the workers hold the model, and talk to each other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/roles/job_context.hpp"
#include "sim/roles/processor.hpp"

namespace psim {

// All workers of one run.
class Peers {
 public:
  virtual ~Peers() = default;
  // The body of worker `index`'s actor.
  virtual void run(std::uint32_t index) = 0;
  // A message has arrived somewhere. Runs in the simulation kernel.
  virtual void on_arrival(const Message& message) = 0;
  // The model, in one part or more, as far as all workers have updated it.
  virtual std::vector<Slice> weights() const = 0;
};

// `weights`: the whole initial model, none for a phantom. See all_reduce.hpp and pipeline.hpp.
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

 private:
  const JobContext& job_;
  Range range_;
  Parameters parameters_;
  LearningRate rate_;
  std::int64_t version_ = 0;
};

// Hands out a node's messages in the order that an algorithm wants them, whatever order they come in.
class Mailbox {
 public:
  Mailbox(JobContext& job, NodeId node) : job_(job), node_(node) {}
  Message take(MessageKind kind, NodeId from, std::int64_t clock, std::int64_t number);

 private:
  JobContext& job_;
  NodeId node_;
  std::vector<Message> early_;
};

// A node's life around its work.
void enter(JobContext& job, NodeId node, Mailbox& mailbox);
void leave(JobContext& job, NodeId node, std::int64_t clock);

// Floating-point operations of worker `index`'s step `step`, slowness included.
double flops_of_step(const JobContext& job, std::uint32_t index, std::int64_t step);

}  // namespace psim

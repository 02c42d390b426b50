// A worker's processor: spends the simulated time of computing, and of copying between host and devices. A
// message can stop both.
#pragma once

#include <cstdint>

#include "sim/nodes/job/job_context.hpp"

namespace psim {

// Spends the time of `flops` floating-point operations on `node`, in the calling actor.
void compute(JobContext& job, NodeId node, double flops);

class Processor {
 public:
  Processor(JobContext& job, NodeId node) : job_(job), node_(node) {}

  // Computes `flops` floating-point operations at the machine's current speed. Returns false if it was
  // stopped.
  bool compute(double flops, bool may_stop = true);
  // Copies over the bus: this takes `seconds`, however slow the machine is. A copy always ends normally; the
  // result is false if stop() was called during the copy.
  bool copy(double seconds);

  // Call these from the simulation kernel. stop(): a message makes the current work pointless. pause(): the
  // worker must answer a message first, and continue the work afterwards.
  void stop();
  void pause();
  // Operations that were left at the pause.
  double left() const { return left_; }

  // Operations per second of the machine, now.
  double speed() const;
  // Seconds of work since start_timer().
  void start_timer() { seconds_ = 0; }
  double seconds() const { return seconds_; }

 private:
  enum class State : std::uint8_t { unstoppable, computing, copying, stopped };

  JobContext& job_;
  NodeId node_;
  State state_ = State::unstoppable;  // also without work
  Cpu::Work* work_ = nullptr;         // a computation that may be stopped
  double left_ = 0, seconds_ = 0;
  Cause stopped_by_;
};

// The costs of a worker's step, with servers and without.

// Operations for the samples of one step of worker `index` with `local_steps` local steps, without slowness.
// `scale`: the size of its batches, over the scenario's size.
double flops_of_samples(const JobContext& job, std::uint32_t index, std::int64_t local_steps, double scale);
// Seconds of all copies between host and devices in one step with `local_steps` local steps. The copies move
// `values` weights and their gradients.
double all_copies(const JobContext& job, std::size_t values, std::int64_t local_steps);

}  // namespace psim

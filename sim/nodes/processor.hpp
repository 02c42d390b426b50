// A worker's processor: spends the simulated time of computing, and of copying between host and devices. Both
// can be stopped meanwhile.
#pragma once

#include <simgrid/s4u/Exec.hpp>

#include <cstdint>

#include "sim/nodes/job_context.hpp"

namespace psim {

// Spends the time of `flops` floating-point operations, by the calling actor, on `node`.
void compute(JobContext& job, NodeId node, double flops);

class Processor {
 public:
  Processor(JobContext& job, NodeId node) : job_(job), node_(node) {}

  // For `flops` floating-point operations at the machine's speed of the moment. False if it was stopped.
  bool compute(double flops, bool may_stop = true);
  // On the bus, so for `seconds` however slow the machine is. A copy in hand is finished; false if it was
  // to stop meanwhile.
  bool copy(double seconds);

  // From the simulation kernel, when a message makes the work in hand pointless; or is to be answered first,
  // and the work to go on afterwards.
  void stop();
  void pause();
  // Operations that were left when it was paused.
  double left() const { return left_; }

  // Operations a second, now, of the machine of the calling actor.
  static double speed();
  // Seconds of work since start_timer().
  void start_timer() { seconds_ = 0; }
  double seconds() const { return seconds_; }

 private:
  enum class State : std::uint8_t { unstoppable, computing, copying, stopped };

  JobContext& job_;
  NodeId node_;
  State state_ = State::unstoppable;  // also when there is nothing to do
  simgrid::s4u::ExecPtr exec_;        // while it computes and may be stopped
  double begun_ = 0, flops_ = 0;      // of the last computation: date, operations
  double left_ = 0, seconds_ = 0;
  Cause stopped_by_;
};

}  // namespace psim

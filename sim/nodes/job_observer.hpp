// What the nodes of a job tell their job and the run, and ask about the run as a whole.
#pragma once

#include <cstdint>

#include "sim/protocol/message.hpp"
#include "sim/record/server_events.hpp"

namespace psim {

// The run.
class RunWatch {
 public:
  virtual ~RunWatch() = default;
  virtual bool is_stuck() = 0;       // nothing can happen any more
  virtual bool is_hopeless() = 0;    // nothing has come of anything for too long; the run then ends
  virtual void give_up(NodeId) = 0;  // a request of this node was repeated as often as is allowed
  // Whether a fault that is planned starts this node again. Faults with a condition are not planned before
  // their condition holds.
  virtual bool comes_back(NodeId) const = 0;
  virtual void on_clock(NodeId worker, std::int64_t clock) = 0;  // it starts this clock, or has done the last
};

// The job.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // A part of the model has another version: after an update, or since an older one took the place of what
  // was lost.
  virtual void on_version() = 0;
  virtual void on_applied(const PushOutcome& push) = 0;
  virtual void on_end() = 0;                    // every worker of the job has left
  virtual void start_spare(NodeId worker) = 0;  // from an actor; it joins when it is up
};

}  // namespace psim

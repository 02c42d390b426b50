// The interfaces by which a job's nodes report to their job and to the run, and ask about the whole run.
#pragma once

#include <cstdint>

#include "sim/protocol/message.hpp"
#include "sim/record/server_events.hpp"

namespace psim {

// The run.
class RunWatch {
 public:
  virtual ~RunWatch() = default;
  virtual bool is_stuck() = 0;       // no further event is possible
  virtual bool is_hopeless() = 0;    // too long without progress; the run then ends
  virtual void give_up(NodeId) = 0;  // this node has repeated a request too often
  // Whether a planned fault starts this node again. A fault with a condition is planned only after its
  // condition holds.
  virtual bool comes_back(NodeId) const = 0;
  // The worker starts this clock, or has done its last clock.
  virtual void on_clock(NodeId worker, std::int64_t clock) = 0;
};

// The job.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // A part of the model has another version: after an update, or because an older version has replaced a lost
  // one.
  virtual void on_version() = 0;
  virtual void on_applied(const PushOutcome& push) = 0;
  virtual void on_end() = 0;                    // every worker of the job has left
  virtual void start_spare(NodeId worker) = 0;  // called from an actor; the worker joins when it is up
};

}  // namespace psim

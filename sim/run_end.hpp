// Ends a run: with its last job, or when the run can make no more progress.
#pragma once

#include <deque>

#include "sim/job.hpp"
#include "sim/machines.hpp"

namespace psim {

class RunEnd {
 public:
  RunEnd(Machines& machines, std::deque<Job>& jobs) : machines_(machines), jobs_(jobs) {}

  // A job has finished. Call this and end_now() from the agenda, never from an actor.
  void end_job(Job& job);
  // Ends all remaining jobs.
  void end_now();
  // The record takes no more events after this.
  void close();

  bool has_ended() const { return ended_; }
  double date() const { return date_; }

 private:
  Machines& machines_;
  std::deque<Job>& jobs_;
  bool ended_ = false;
  double date_ = 0;
};

}  // namespace psim

// How a run ends: with its last job, or when it can go on no more.
#pragma once

#include <deque>

#include "sim/job.hpp"
#include "sim/machines.hpp"

namespace psim {

class RunEnd {
 public:
  RunEnd(Machines& machines, std::deque<Job>& jobs) : machines_(machines), jobs_(jobs) {}

  // A job is through. From the agenda, never from an actor; likewise the next.
  void end_job(Job& job);
  // For all jobs that are left.
  void end_now();
  // After this nothing is recorded any more.
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

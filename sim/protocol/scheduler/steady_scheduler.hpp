// The scheduler where no node fails: it starts all nodes when all have joined, shares out work, and notes
// which workers leave. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/scheduler/scheduled_job.hpp"

namespace psim {

class SteadyScheduler {
 public:
  SteadyScheduler(std::uint32_t servers, const std::vector<ScheduledJob>& jobs, SchedulerOutbox& out);

  void on(const Message& message, double now);
  bool has_started() const { return joined_ == members_; }
  // Every job has ended, or its workers have left.
  bool is_over() const;

 private:
  struct Job {
    ScheduledJob plan;
    WorkSharing sharing;
    std::uint32_t left = 0;  // workers
  };

  SchedulerOutbox& out_;
  std::vector<Job> jobs_;
  std::uint32_t members_, joined_ = 0;
};

}  // namespace psim

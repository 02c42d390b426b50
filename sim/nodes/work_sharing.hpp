// The scheduler's part in dynamic work: takes the workers' reports, and tells them their shares.
#pragma once

#include <optional>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/protocol/work.hpp"

namespace psim {

class WorkSharing {
 public:
  explicit WorkSharing(JobContext& job);

  void on(NodeId from, const Report& report);
  // By worker of the run, whether it takes part.
  void set_members(const std::vector<bool>& members);
  // The node has been started anew.
  void is_new(NodeId worker);
  // When a decision waits no longer for reports.
  std::optional<double> next() const { return balancer_.next(); }
  void decide_overdue(double now);

 private:
  void tell(const Balancer::Assignments& assignments);

  JobContext& job_;
  Balancer balancer_;
};

}  // namespace psim

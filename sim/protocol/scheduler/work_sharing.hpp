// The scheduler's part in dynamic work: it takes the reports of one job's workers, and tells them their
// shares. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/protocol/scheduler/scheduler_outbox.hpp"
#include "sim/protocol/work.hpp"

namespace psim {

class WorkSharing {
 public:
  struct Options {
    bool dynamic = false;  // otherwise reports have no effect
    NodeId first_worker = 1;
    std::uint32_t first_index = 0;  // of the run's workers
    std::uint32_t workers = 1;
    bool tells_sizes = false;  // a share goes with the sizes of all workers
    Balancer::Options balancer = {};
  };
  WorkSharing(Options options, SchedulerOutbox& out)
      : options_(std::move(options)), out_(out), balancer_(options_.balancer) {}

  void on(NodeId from, const Report& report, double now);
  // By worker of the run: whether it takes part.
  void set_members(const std::vector<bool>& members, double now);
  // The node has been started again.
  void is_new(NodeId node);
  // The date when the next decision stops waiting for reports.
  std::optional<double> next() const { return balancer_.next(); }
  void decide_overdue(double now);

 private:
  bool is_worker(NodeId node) const {
    return node >= options_.first_worker && node < options_.first_worker + options_.workers;
  }
  void tell(const Balancer::Assignments& assignments);

  Options options_;
  SchedulerOutbox& out_;
  Balancer balancer_;
};

}  // namespace psim

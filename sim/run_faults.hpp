// The faults of a run: their dates (sim/cluster/fault_plan) and their effects on nodes. A worker belongs to
// its job, the inference group to the job that it serves, and every other node to the first job.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "sim/cluster/fault_plan.hpp"
#include "sim/cluster/link_control.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/job.hpp"
#include "sim/machines.hpp"

namespace psim {

class RunFaults final : private FaultTarget {
 public:
  RunFaults(const Scenario& scenario, Machines& machines, std::deque<Job>& jobs, SpeedControl& speeds,
            LinkControl& links)
      : jobs_(jobs), speeds_(speeds), links_(links) {
    if (!scenario.faults.empty())
      plan_.emplace(scenario, machines.network, machines.recorder, machines.agenda,
                    static_cast<FaultTarget&>(*this));
  }

  // Null without faults.
  const FaultPlan* plan() const { return plan_ ? &*plan_ : nullptr; }
  // `is_quiet`: see FaultPlan.
  void start(std::function<bool()> is_quiet) {
    if (plan_) plan_->start(std::move(is_quiet));
  }
  // These three calls may make the condition of a fault true.
  void on_update(std::int64_t updates) {
    if (plan_) plan_->on_update(updates);
  }
  void on_clock(NodeId worker, std::int64_t clock) {
    if (plan_) plan_->on_clock(worker, clock);
  }
  void on_evaluation(const Evaluation& result) {
    if (plan_) plan_->on_evaluation(result);
  }
  bool waits_for_evaluations() const { return plan_ && plan_->waits_for_evaluations(); }

 private:
  bool crash(NodeId node, bool disk_lost) override {
    const bool was_up = actors_of(node).crash(node);
    return (disk_lost && lose_disk(node)) || was_up;
  }
  bool restart(NodeId node) override { return actors_of(node).restart(node); }
  bool leave(NodeId node) override { return actors_of(node).leave(node); }
  bool join(NodeId node) override { return restart(node); }
  bool lose_disk(NodeId node) override { return actors_of(node).lose_disk(node); }
  void set_speed(NodeId node, double factor) override { speeds_.set_fault(node, factor); }
  void set_bandwidth(NodeId node, double factor) override { links_.set_fault(node, factor); }

  NodeActors& actors_of(NodeId node) {
    const auto job = std::ranges::find_if(jobs_, [node](Job& one) { return one.actors().has(node); });
    return (job != jobs_.end() ? *job : jobs_.front()).actors();
  }

  std::deque<Job>& jobs_;
  SpeedControl& speeds_;
  LinkControl& links_;
  std::optional<FaultPlan> plan_;
};

}  // namespace psim

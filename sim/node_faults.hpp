// What faults do to nodes: their actors crash, come back and leave; their machines change their speed. Nodes
// fail only where there is one job.
#pragma once

#include "sim/cluster/fault_plan.hpp"
#include "sim/cluster/speed_control.hpp"
#include "sim/roles/crew.hpp"

namespace psim {

class NodeFaults final : public FaultTarget {
 public:
  NodeFaults(Crew& crew, SpeedControl& speeds) : crew_(crew), speeds_(speeds) {}

  bool crash(NodeId node, bool disk_lost) override {
    const bool was_up = crew_.crash(node);
    return (disk_lost && lose_disk(node)) || was_up;
  }
  bool restart(NodeId node) override {
    const bool was_down = crew_.restart(node);
    if (speeds_.is_frozen(node)) speeds_.apply(node);
    return was_down;
  }
  bool leave(NodeId node) override { return crew_.leave(node); }
  bool join(NodeId node) override { return restart(node); }
  bool lose_disk(NodeId node) override { return crew_.lose_disk(node); }
  void set_speed(NodeId node, double factor) override { speeds_.set_fault(node, factor); }

 private:
  Crew& crew_;
  SpeedControl& speeds_;
};

}  // namespace psim

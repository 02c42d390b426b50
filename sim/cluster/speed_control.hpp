// The current speed of every machine: windowed stragglers times profiles times faults. With cluster.colocate
// a fault of one node slows the whole machine.
//
// At factor 0 a node is frozen: its machine stops and its messages wait. With a speed near 0 instead, the
// node would still do everything that takes no time, and a computation would end in a thousand years.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/cpu.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/slowness.hpp"

namespace psim {

class SpeedControl {
 public:
  SpeedControl(const ClusterSpec& cluster, Cpus& cpus, const Slowness& slowness, Agenda& agenda,
               Network& network, Recorder& recorder);

  // Call once, before the simulation runs. Follows the stragglers' windows, until `is_stuck`.
  void start(std::function<bool()> is_stuck);

  // Sets the factor of faults on the node's speed. A machine is frozen until all its nodes have a factor
  // above 0.
  void set_fault(NodeId node, double factor);
  bool is_frozen(NodeId node) const { return cpus_.of(node).is_frozen(); }

 private:
  void follow(NodeId node);
  void apply(NodeId node);
  // The nodes of its machine, including itself.
  std::vector<NodeId> nodes_beside(NodeId node) const;
  std::optional<std::uint32_t> worker_of(NodeId node) const;
  double factor_of(const std::vector<NodeId>& machine) const;

  const ClusterSpec& cluster_;
  Cpus& cpus_;
  const Slowness& slowness_;
  Agenda& agenda_;
  Network& network_;
  Recorder& recorder_;
  std::function<bool()> is_stuck_;
  std::vector<double> by_fault_, factors_;  // by node; factors_: those of its machine
};

}  // namespace psim

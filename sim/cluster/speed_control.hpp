// The current speed of every node: windowed stragglers times faults.
//
// A node's host has a speed level for every possible product of factors; running computations adapt at once.
// At factor 0 the node's actors are suspended and its messages wait. With a speed near 0 instead, the node
// would still do everything that takes no time, and a computation would end in a thousand years. A machine is
// as slow as its slowest node.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/platform.hpp"
#include "sim/cluster/slowness.hpp"

namespace psim {

class SpeedControl {
 public:
  // Workers are the nodes from `first_worker` on, `workers` of them.
  SpeedControl(const Platform& platform, const Slowness& slowness, Agenda& agenda, Network& network,
               NodeId first_worker, std::uint32_t workers);

  // Call once, before the simulation runs. Follows the stragglers' windows, until `is_stuck`.
  void start(std::function<bool()> is_stuck);

  // Sets the factor of faults on the node's speed. A node at 0 is frozen: its actors are suspended, and
  // arriving messages wait until it continues.
  void set_fault(NodeId node, double factor);
  bool is_frozen(NodeId node) const;
  // Applies the current speed to a node that has new actors.
  void apply(NodeId node);

 private:
  void follow(NodeId node);
  void suspend_actors(NodeId node);
  // The nodes of its machine, including itself.
  const std::vector<NodeId>& nodes_beside(NodeId node) const { return nodes_of_.at(platform_.hosts[node]); }
  double factor_of(NodeId node) const;

  const Platform& platform_;
  const Slowness& slowness_;
  Agenda& agenda_;
  Network& network_;
  NodeId first_worker_;
  std::uint32_t workers_;
  std::function<bool()> is_stuck_;
  std::vector<double> by_fault_;                                       // by node
  std::map<const simgrid::s4u::Host*, std::vector<NodeId>> nodes_of_;  // looked up only
};

}  // namespace psim

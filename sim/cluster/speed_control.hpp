// How fast every node computes at present: windowed stragglers times faults.
//
// A slow node has a speed level of its own for every product of factors that may meet; running computations
// adapt at once. At factor 0 its actors are suspended and its mail waits: with a speed near 0 instead, it
// would answer all that costs nothing, and some computation would end in a thousand years. Of the nodes of
// one machine the slowest says how fast it is.
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

  // Once, before the simulation runs: follows the stragglers' windows, until nothing can happen any more.
  void start(std::function<bool()> is_stuck);

  // By faults: of the node's own speed. A node at 0 is frozen: its actors are suspended, for a speed near 0
  // would let a computation end at some date in the far future, and the node would still answer messages,
  // which take no time. What arrives waits until it goes on.
  void set_fault(NodeId node, double factor);
  bool is_frozen(NodeId node) const;
  // A node has new actors, which know nothing of this.
  void apply(NodeId node);

 private:
  void follow(NodeId node);
  void suspend_actors(NodeId node);
  // Of its machine, itself among them.
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

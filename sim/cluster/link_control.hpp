// The current bandwidth and latency of every node's own links: profiles times faults.
#pragma once

#include <functional>
#include <vector>

#include "sim/cluster/agenda.hpp"
#include "sim/cluster/network.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

class LinkControl {
 public:
  LinkControl(const Scenario& scenario, Network& network, Agenda& agenda, Recorder& recorder);

  // Call once, before the simulation runs. Follows the profiles until `is_stuck`.
  void start(std::function<bool()> is_stuck);

  // Sets the share of the node's bandwidth that faults leave.
  void set_fault(NodeId node, double factor);

 private:
  struct Node {
    std::vector<const ProfileSpec*> profiles = {};
    double by_fault = 1, by_profile = 1, latency = 0;
  };
  void follow(NodeId node);
  void set_bandwidth(NodeId node);

  std::uint64_t seed_;
  Network& network_;
  Agenda& agenda_;
  Recorder& recorder_;
  std::function<bool()> is_stuck_;
  std::vector<Node> nodes_;
};

}  // namespace psim

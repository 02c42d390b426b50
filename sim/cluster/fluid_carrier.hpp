// Messages as flows of SimGrid, which share every link max-min fairly, by weight. Exact, and O(flows) for
// each flow that begins or ends.
//
// A transfer is Comm::sendto_init between hosts, detached; the link's communication callback reports its end
// on the exact date. The solver: network/optim:Lazy of SimGrid 3.32 can forget a link when several flows
// begin to share it at one date, which is what a barrier makes them do. psim sets network/optim:Full
// (tests/oracles/network_test.cpp).
#pragma once

#include <simgrid/s4u/Comm.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/carrier.hpp"

namespace psim {

class FluidCarrier final : public Carrier {
 public:
  explicit FluidCarrier(const Platform& platform);

  void start(std::span<const Cargo> cargos) override;
  void cancel(std::uint32_t slot) override;
  void set_bandwidth(NodeId node, double factor) override;
  void stop() override { slots_.clear(); }

 private:
  struct Node {
    simgrid::s4u::Host* host;
    std::vector<std::pair<simgrid::s4u::Link*, double>> links;  // its own, and their bandwidth
    double bandwidth = 1;                                       // remaining share of it
  };
  simgrid::s4u::CommPtr start_flow(const Cargo& cargo) const;
  static void scale_links(const Node& node, double factor);

  std::vector<Node> nodes_;
  std::vector<simgrid::s4u::CommPtr> flows_;              // by slot
  std::unordered_map<const void*, std::uint32_t> slots_;  // unordered: looked up only
};

}  // namespace psim

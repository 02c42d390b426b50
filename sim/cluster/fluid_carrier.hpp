// Messages as flows of SimGrid, which share every link max-min fairly, by weight. Exact, and O(flows) for
// each flow that begins or ends.
//
// A transfer is Comm::sendto_init between hosts, detached; the link's communication callback reports its end
// on the exact date. The solver: network/optim:Lazy of SimGrid 3.32 can forget a link when several flows
// begin to share it at one date, which is what a barrier makes them do. psim sets network/optim:Full
// (tests/oracles/network_test.cpp).
//
// Decisions:
// - Turns. A message's last turn (turns.hpp) is a flow of its own, which begins when the rest is through.
//   SimGrid shares a link in proportion to 1 / latency, so the last turn takes 1 / last_turn_weight of the
//   latency, and the rest of the message what is left of it. A message of one turn is one flow. A flow must
//   not begin while SimGrid reports that another ends: it would be moved on by the time since SimGrid's last
//   step. So the agenda starts last turns, at the same date.
// - Streams. A flow of SimGrid waits for its latency before it takes bandwidth, and its weight follows from
// the
//   latency. One that is suspended and resumed keeps its weight and takes bandwidth at once, because Full
//   does not ask whether the latency is over (tests/oracles/network_test.cpp). So the next message of a
//   stream takes over the bandwidth of the one before at the date at which that has left.
// - Changes of bandwidth. Where SimGrid's weights depend on the bandwidth of links (lv08), each change of it
//   makes every flow of the link take bandwidth at once, also one whose latency is not over; but not one that
//   is suspended. So such a flow is suspended, and resumed when its latency is over.
// - Acknowledgements load the opposite direction as a flow of their own, which nobody waits for. SimGrid's
//   network/crosstraffic lets one flow cross both directions, and so gives it no more than its share of the
//   opposite one, where it needs a twentieth of that: pulls would wait for pushes.
#pragma once

#include <simgrid/s4u/Comm.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/carrier.hpp"
#include "sim/cluster/turns.hpp"

namespace psim {

class FluidCarrier final : public Carrier {
 public:
  FluidCarrier(const Scenario& scenario, const Platform& platform, Agenda& agenda);

  void start(std::span<const Cargo> cargos) override;
  void cancel(std::uint32_t slot) override;
  double latency(NodeId from, NodeId to) override;
  void set_bandwidth(NodeId node, double factor) override;
  void stop() override { slots_.clear(); }

 private:
  struct Node {
    simgrid::s4u::Host* host;
    std::vector<std::pair<simgrid::s4u::Link*, double>> links;  // its own, and their bandwidth
    double bandwidth = 1;                                       // remaining share of it
  };
  // What is on its way in a slot.
  struct Voyage {
    Cargo cargo = {};
    std::uint64_t last_turn = 0;                       // bytes that go when the flow is through
    simgrid::s4u::CommPtr flow = nullptr;              // null while its last turn is planned
    double flows_from = 0;                             // the date at which the flow's latency is over
    simgrid::s4u::CommPtr acknowledgements = nullptr;  // while they are on their way
  };
  struct Flow {
    std::uint32_t slot = 0;
    bool acknowledges = false;
  };
  void plan_last_turn(std::uint32_t slot);
  void start_flow(Voyage& voyage, std::uint64_t bytes, double latency);
  void hold(const Voyage& voyage);
  void scale_latency(double factor);
  void start_acknowledgements(Voyage& voyage);
  void forget_acknowledgements(Voyage& voyage);
  static void scale_links(const Node& node, double factor);

  std::vector<Node> nodes_;
  Agenda& agenda_;
  RouteTable* routes_;
  Turns turns_;
  double window_, latency_factor_ = 1;  // window_: as SimGrid knows it; 0: no limit
  double second_;                       // of delay for one of a route's latency, as SimGrid knows that
  bool acknowledges_;
  std::vector<Voyage> voyages_;                  // by slot
  std::vector<std::uint32_t> last_turns_ = {};   // slots whose last turn begins at this date
  std::unordered_map<const void*, Flow> slots_;  // by activity; unordered: looked up only
};

}  // namespace psim

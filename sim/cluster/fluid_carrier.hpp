// Messages as flows of SimGrid. Flows share every link max-min fairly, by weight. Exact, and O(flows) for
// each start or end of a flow.
//
// A transfer is a detached Comm::sendto_init between hosts. The link's communication callback reports its end
// at the exact date. The solver: network/optim:Lazy of SimGrid 3.32 can forget a link when several flows
// begin to share it at one date, as they do after a barrier. So psim sets network/optim:Full
// (tests/oracles/network_test.cpp).
//
// Decisions:
// - Weights. SimGrid shares a link in proportion to 1 / latency. So a flow of weight w has the share
//   own_latency / w of its route's latency, and psim's agenda waits for the rest before it starts the flow. A
//   message's last turn (turns.hpp) is a separate flow, which begins when the rest has arrived. A flow must
//   not begin while SimGrid reports the end of another flow, because SimGrid would advance it by the time
//   since its last step. So the agenda starts last turns, at the same date.
// - Streams. A message of a stream does not wait for its latency. A flow that is suspended and resumed takes
//   bandwidth at once, because Full does not check whether the latency is over
//   (tests/oracles/network_test.cpp). So the next message of a stream takes over the bandwidth of the
//   previous message at the date when that message has left. Until its own latency is over, SimGrid gives it
//   the weight 1.
// - Changes of bandwidth. If SimGrid's weights depend on the bandwidth of links (lv08), each change makes
//   every flow of the link take bandwidth at once, even if its own latency is not over; suspended flows do
//   not. So psim suspends a flow during its own latency, and resumes it afterwards. A resumed flow has weight
//   1, so psim suspends none where it gives flows their weights (share_spread).
// - Acknowledgements load the opposite direction as a separate flow, and no node waits for it. With SimGrid's
//   network/crosstraffic, one flow crosses both directions. Its speed is then limited by its share of the
//   opposite direction, although it needs only a twentieth of this share: pulls would wait for pushes.
#pragma once

#include <simgrid/s4u/Comm.hpp>

#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/carrier.hpp"
#include "sim/cluster/port_queues.hpp"
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
    std::vector<std::pair<simgrid::s4u::Link*, double>> links;  // the node's own links, and their bandwidth
    double bandwidth = 1;                                       // remaining share of the bandwidth
  };
  // The message on its way in a slot.
  struct Voyage {
    Cargo cargo = {};
    double weight = 1;                                 // until the last turn
    std::uint64_t rest = 0, last_turn = 0;             // bytes that have not begun
    Agenda::Ticket begins = {};                        // of its next flow
    simgrid::s4u::CommPtr flow = nullptr;              // null until it begins
    double flows_from = 0;                             // the date of the end of its own latency
    simgrid::s4u::CommPtr acknowledgements = nullptr;  // while they are on their way
  };
  struct Flow {
    std::uint32_t slot = 0;
    bool acknowledges = false;
  };
  void plan(double date, std::uint32_t slot);
  void begin(std::uint32_t slot);
  void hold(const Voyage& voyage);
  simgrid::s4u::CommPtr flow(NodeId from, NodeId to, std::uint64_t bytes, double weight, bool streamed,
                             const Flow& what);
  void scale_latency(double factor);
  void start_acknowledgements(Voyage& voyage);
  void forget_acknowledgements(Voyage& voyage);
  static void scale_links(const Node& node, double factor);

  std::vector<Node> nodes_;
  Agenda& agenda_;
  RouteTable* routes_;
  Turns turns_;
  PortQueues queues_;
  double window_, latency_factor_ = 1;  // window_: in SimGrid's units; 0: no limit
  double second_;                       // of delay for one unit of a route's latency in SimGrid
  bool acknowledges_, holds_;
  std::vector<Voyage> voyages_;                  // by slot
  std::unordered_map<const void*, Flow> slots_;  // by activity; unordered is safe: only looked up
};

}  // namespace psim

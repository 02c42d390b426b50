// Messages in segments through the queues of NICs and switches (stations.hpp). A segment costs O(log n), for
// any number of senders, and only open messages have state.
//
// Decisions:
// - As in SimGrid's flow models, a message first pays the latency of its route, and uses no bandwidth during
//   this time.
// - So a node's action reaches a station only after the least latency of all routes. The stations can run
//   ahead of the clock by this latency. Immediate changes, such as a cancelled message or a new bandwidth,
//   take effect there up to this latency later.
// - A message of a stream uses bandwidth at once. In runs with streams the stations are never ahead of the
//   clock.
#pragma once

#include <deque>
#include <vector>

#include "sim/cluster/carrier.hpp"
#include "sim/cluster/port_queues.hpp"
#include "sim/cluster/share_weights.hpp"
#include "sim/cluster/stations.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/cluster/wiring.hpp"

namespace psim {

class NicCarrier final : public Carrier {
 public:
  NicCarrier(const Scenario& scenario, Agenda& agenda);

  void start(std::span<const Cargo> cargos) override;
  void cancel(std::uint32_t slot) override;
  double latency(NodeId from, NodeId to) override;
  void set_bandwidth(NodeId node, double factor) override;
  void stop() override { stopped_ = true; }

 private:
  void enter(const Cargo& cargo);
  void wake_in_time();
  void work();

  const Scenario& scenario_;
  Agenda& agenda_;
  FlowModel model_;
  Wiring wiring_;
  double ahead_;  // seconds
  Turns turns_;
  PortQueues queues_;
  Stations stations_;
  struct Arrival {
    double date;
    std::uint32_t slot;
    std::uint64_t number;
  };
  std::deque<Arrival> arrivals_;        // rising
  std::vector<std::uint64_t> numbers_;  // by slot: number of the cargo; 0: none
  std::uint64_t next_number_ = 0;
  double wakes_;  // the date of the valid entry in the agenda
  bool stopped_ = false;
};

}  // namespace psim

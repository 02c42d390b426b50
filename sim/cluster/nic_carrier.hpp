// Messages in segments through the queues of NICs and switches (stations.hpp): O(log n) per segment, whoever
// else sends, and no state but that of open messages. SimGrid keeps the clock.
//
// Decisions:
// - As in SimGrid's flow models, a message pays the latency of its way first, and takes no bandwidth
// meanwhile.
// - So nothing that a node does now reaches a station before the least latency of any way is over, and the
//   stations are worked off until then in one go. What cannot wait for a message, a cut flow or another
//   bandwidth, takes effect there up to this latency later.
// - A message of a stream takes bandwidth at once. In runs that have streams the stations are never ahead of
//   the clock.
#pragma once

#include <deque>
#include <vector>

#include "sim/cluster/carrier.hpp"
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
  Stations stations_;
  struct Arrival {
    double date;
    std::uint32_t slot;
    std::uint64_t number;
  };
  std::deque<Arrival> arrivals_;        // rising
  std::vector<std::uint64_t> numbers_;  // by slot: of the cargo; 0: there is none
  std::uint64_t next_number_ = 0;
  double wakes_;  // the date of the entry in the agenda that counts
  bool stopped_ = false;
};

}  // namespace psim

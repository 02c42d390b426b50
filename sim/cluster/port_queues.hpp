// Packets wait at their receiver's port, behind messages that arrive faster than the port sends.
//
// A sender with a free link puts more bytes on the way than the receiver's port can pass on. The rest waits
// in the port's queue: a part of each message that grows with its length, up to 128 KiB of a connection
// (docs/sharing.md has the measurements). The fluid model of a link has no such queue, because a message that
// waits in it is not slower. But a request is: a worker that is ahead of the others waits with its request
// behind their pushes, and the others catch up. A port's queue holds 1 MiB at most: eight connections.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster/carrier.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

class PortQueues {
 public:
  // `bandwidths`: of the nodes' own ports, in bytes per second; 0: no own port, and so no queue.
  PortQueues(const NetworkSpec& network, const std::vector<double>& bandwidths);

  // A cargo begins at `now`. Returns the seconds that a packet waits in the queue; 0 for longer messages,
  // which become part of it.
  double begin(const Cargo& cargo, double now);
  // The cargo in the slot has arrived, or is cancelled.
  void end(std::uint32_t slot);
  // Sets the remaining share of a port's bandwidth.
  void set_bandwidth(NodeId node, double factor) { ports_[node].factor = factor; }

 private:
  // A message of more than a packet that is on its way.
  struct Arriving {
    NodeId from = 0, to = 0;
    double bytes = 0;  // 0: no such message
    double begun = 0;
  };
  struct Port {
    double bandwidth = 0, factor = 1;
    std::vector<std::uint32_t> arriving = {};  // slots
    std::uint32_t leaving = 0;                 // messages
  };
  double waiting(const Arriving& message, double now) const;

  double part_;                   // of a message, in the queue; 0: no queues
  std::vector<Arriving> on_way_;  // by slot
  std::vector<Port> ports_;       // by node
};

}  // namespace psim

// Packets wait at their receiver's port, behind messages that arrive faster than the port sends.
//
// A sender with a free link puts more bytes on the way than the receiver's port can pass on. The rest waits
// in the port's queue: a part of each message that grows with its length, up to 128 KiB of a connection
// (docs/sharing.md has the measurements). The fluid model of a link has no such queue, because a message that
// waits in it is not slower. But a request is: a worker that is ahead of the others waits with its request
// behind their pushes, and the others catch up. A port's queue holds 1 MiB at most: eight connections. It
// empties with the full bandwidth of the port, so that no wait outlives a fault of the link.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster/carrier.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

class PortQueues {
 public:
  explicit PortQueues(const ClusterSpec& cluster)
      : cluster_(cluster), part_(cluster.network.share_spread > 0 ? cluster.network.share_queue : 0) {}

  // A cargo begins at `now`. Returns the seconds that a packet waits in the queue; 0 for longer messages,
  // which become part of it. `bandwidth`: a function that returns the bytes per second of the last shared
  // link on the packet's way, without faults; 0: none, and so no queue.
  template <class Bandwidth>
  double begin(const Cargo& cargo, double now, const Bandwidth& bandwidth) {
    if (part_ == 0) return 0;
    if (cargo.bytes <= undivided) return wait(host_of(cluster_, cargo.to), now, bandwidth());
    add(cargo, now);
    return 0;
  }
  // The cargo in the slot has arrived, or is cancelled.
  void end(std::uint32_t slot);

 private:
  // A message of more than a packet that is on its way.
  struct Arriving {
    std::uint32_t from = 0, to = 0;  // hosts
    double bytes = 0;                // 0: no such message
    double begun = 0;
  };
  struct Port {
    std::vector<std::uint32_t> arriving = {};  // slots
    std::uint32_t leaving = 0;                 // messages
  };
  void add(const Cargo& cargo, double now);
  double wait(std::uint32_t to, double now, double bandwidth);
  double waiting(const Arriving& message, double now, double bandwidth) const;
  Port& port(std::uint32_t host);

  const ClusterSpec& cluster_;
  double part_;                   // of a message, in the queue; 0: no queues
  std::vector<Arriving> on_way_;  // by slot
  std::vector<Port> ports_;       // by host
};

}  // namespace psim

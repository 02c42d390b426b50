// The links of a cluster, and the routes of messages over them, as run.db holds them (schema.sql).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

struct LinkMap {
  // One direction of a link. A link of a platform file has both directions, unless the file splits them.
  struct Link {
    std::string name;
    std::optional<double> bandwidth;  // bytes per second for all messages; none: no limit
    double latency;                   // seconds that it delays messages
    bool is_shared;                   // false: every message has the whole bandwidth
  };
  // Messages from `sender` to `receiver` cross this link. None: any node.
  struct Hop {
    std::optional<NodeId> sender, receiver;
    std::uint32_t position, link;
  };
  // Further limits of a message's speed.
  struct Ends {
    std::optional<double> window;                    // bytes: at most this / latency of the route per second
    double send_overhead = 0, receive_overhead = 0;  // seconds
    std::optional<double> send_bandwidth, receive_bandwidth;  // bytes per second
  };
  std::vector<Link> links;
  std::vector<Hop> hops;
  Ends ends;
};

// The pairs of nodes that have exchanged messages: sender and receiver.
class Connections {
 public:
  void add(NodeId from, NodeId to) {
    if (from >= of_sender_.size()) of_sender_.resize(from + std::size_t{1});
    std::vector<bool>& receivers = of_sender_[from];
    if (to >= receivers.size()) receivers.resize(to + std::size_t{1});
    receivers[to] = true;
  }
  // Calls `f` with every sender and receiver, in rising order.
  template <class F>
  void each(F&& f) const {
    for (NodeId from = 0; from < of_sender_.size(); ++from) {
      for (NodeId to = 0; to < of_sender_[from].size(); ++to) {
        if (of_sender_[from][to]) f(from, to);
      }
    }
  }

 private:
  std::vector<std::vector<bool>> of_sender_;  // 12 MB for ten thousand nodes
};

}  // namespace psim

// The links of a cluster and the ways of messages over them, as run.db tells them (schema.sql).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

struct LinkMap {
  // One direction of a link; of a platform file both, unless the file has two.
  struct Link {
    std::string name;
    std::optional<double> bandwidth;  // bytes per second that messages get of it; none: it has no limit
    double latency;                   // seconds that it delays them
    bool is_shared;                   // or every message has the whole bandwidth
  };
  // Messages from `sender` (none: from anybody) to `receiver` (likewise) cross this link.
  struct Hop {
    std::optional<NodeId> sender, receiver;
    std::uint32_t position, link;
  };
  // What else bounds the time of a message.
  struct Ends {
    std::optional<double> window;  // bytes: it has no more than this / latency of its way, per second
    double send_overhead = 0, receive_overhead = 0;           // seconds
    std::optional<double> send_bandwidth, receive_bandwidth;  // bytes per second
  };
  std::vector<Link> links;
  std::vector<Hop> hops;
  Ends ends;
};

// Who has sent messages to whom.
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
  std::vector<std::vector<bool>> of_sender_;  // ten thousand nodes are 12 MB
};

}  // namespace psim

// How long each node has been on, and how long it has computed or copied: what energy and money are reckoned
// from.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

class NodeUsage {
 public:
  explicit NodeUsage(std::size_t nodes) : nodes_(nodes) {}

  // A node is on from when it begins to start, up or not, until it leaves for good or the run ends.
  void turn_on(NodeId node, double now) { nodes_[node].on.begin(now); }
  void turn_off(NodeId node, double now) { nodes_[node].on.end(now); }
  // One more or one less computation goes on.
  void computes(NodeId node, int change, double now) {
    Node& one = nodes_[node];
    if (one.computations == 0 && change > 0) one.busy.begin(now);
    one.computations += change;
    if (one.computations == 0) one.busy.end(now);
  }

  // Until `date`, which is no earlier than the last change.
  double on_seconds(NodeId node, double date) const { return nodes_[node].on.until(date); }
  double busy_seconds(NodeId node, double date) const { return nodes_[node].busy.until(date); }
  int computations(NodeId node) const { return nodes_[node].computations; }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  // Seconds in which something is so.
  struct Span {
    double before = 0, since = -1;  // negative: it is not so now
    void begin(double now) {
      if (since < 0) since = now;
    }
    void end(double now) {
      if (since >= 0) before += now - since;
      since = -1;
    }
    double until(double date) const { return before + (since >= 0 && date > since ? date - since : 0); }
  };
  struct Node {
    Span on, busy;
    int computations = 0;
  };
  std::vector<Node> nodes_;
};

}  // namespace psim

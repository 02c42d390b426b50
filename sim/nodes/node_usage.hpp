// How long each node has been on, and how long it has computed or copied. Energy and money follow from these
// times.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

class NodeUsage {
 public:
  explicit NodeUsage(std::size_t nodes) : nodes_(nodes) {}

  // A node is on from the beginning of its start until it leaves for good or the run ends, even while it is
  // down.
  void turn_on(NodeId node, double now) { nodes_[node].on.begin(now); }
  void turn_off(NodeId node, double now) { nodes_[node].on.end(now); }
  // A computation begins (`change` = 1) or ends (-1).
  void computes(NodeId node, int change, double now) {
    Node& one = nodes_[node];
    if (one.computations == 0 && change > 0) one.busy.begin(now);
    one.computations += change;
    if (one.computations == 0) one.busy.end(now);
  }

  // Seconds until `date`, which is not earlier than the last change.
  double on_seconds(NodeId node, double date) const { return nodes_[node].on.until(date); }
  double busy_seconds(NodeId node, double date) const { return nodes_[node].busy.until(date); }
  // The date since when the node has computed; none: it does not compute.
  std::optional<double> busy_since(NodeId node) const {
    return computations(node) > 0 ? std::optional(nodes_[node].busy.since) : std::nullopt;
  }
  int computations(NodeId node) const { return nodes_[node].computations; }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  // Counts the seconds during which a state holds.
  struct Span {
    double before = 0, since = -1;  // negative: the state does not hold now
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

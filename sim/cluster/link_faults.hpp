// The present faults of the network: cuts between nodes, and faults of single messages. No SimGrid: the
// network asks when a message is sent and when it arrives.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// What will happen to a message that is sent now.
struct MessageFate {
  bool dropped = false;  // lost when it arrives
  int copies = 0;        // copies in addition to the message
  double delay = 0;      // seconds, after its way through the network
};

class LinkFaults {
 public:
  explicit LinkFaults(const Scenario& scenario);

  // Fault `table` of the scenario begins or ends: a partition, a link-down, or a fault of messages. `node`:
  // the node whose turn it is; without one, all nodes of the table.
  void begin(std::size_t table, std::optional<NodeId> node = std::nullopt);
  void end(std::size_t table, std::optional<NodeId> node = std::nullopt);
  // All partitions end.
  void heal();

  // Whether no message from the one node reaches the other.
  bool cut(NodeId from, NodeId to);
  // A message's draws depend on its connection and its index there, so they do not affect other messages.
  MessageFate fate(const Message& message);
  // Whether fault `table` has cut off or changed any message so far.
  bool has_met_any(std::size_t table) const { return faults_[table].has_met_any; }

 private:
  // A fault, active or not, and the nodes that it affects.
  struct Fault {
    FaultSpec spec;
    std::vector<bool> sides[2];
    std::vector<int> active;   // by node: how many times it is active there; the last one: for all nodes
    bool has_met_any = false;  // message
    bool everywhere() const { return active.back() > 0; }
    bool touches(NodeId a, NodeId b) const;  // while the fault is active
  };
  std::vector<Fault> faults_;  // by table; faults of other kinds are never active
  std::uint64_t seed_;
  std::size_t active_ = 0;  // number of active faults
  bool about_messages_ = false;
  std::map<std::pair<NodeId, NodeId>, std::uint64_t> sent_;  // messages of each connection
};

}  // namespace psim

// The active faults of the network: cuts between nodes, and faults of single messages. It does not use
// SimGrid: the network asks when a message is sent and when it arrives.
//
// Decisions:
// - A message that crosses a cut is lost when it would arrive. A message that is sent into a cut is lost at
//   once. A cut that begins and ends while a message is on its way does not affect the message.
// - A dropped message first uses its share of the network, like a packet that the receiver throws away. Other
//   message faults do not affect a copy. A late message frees its connection when it has crossed the network.
// - A message's draws depend on the fault table, the connection and the message's index on it, so more
//   traffic elsewhere does not change them.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

class LinkFaults {
 public:
  explicit LinkFaults(const Scenario& scenario);

  // Fault `table` of the scenario, which cuts links or affects messages, begins or ends. `node`: only for
  // this node; none: for all nodes of the table.
  void begin(std::size_t table, std::optional<NodeId> node = std::nullopt);
  void end(std::size_t table, std::optional<NodeId> node = std::nullopt);
  // All faults of this kind are over.
  void end_all(std::string_view kind);

  // Whether messages from `from` cannot reach `to`.
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
    std::vector<int> active;   // by node: how many times it is active there; last entry: for all nodes
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

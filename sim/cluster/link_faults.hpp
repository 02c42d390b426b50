// The present faults of the network: cuts between nodes, and faults of single messages. No SimGrid: the
// network asks when a message is sent and when it arrives.
//
// Decisions:
// - A message on its way across a cut is lost when it arrives there; one that is sent into a cut is lost at
//   once. A cut that comes and goes while a message is on its way does not touch it: the bytes are behind
//   it.
// - A dropped message takes its share of the network first, as a packet does that the receiver throws away.
//   A copy is not touched by other message faults. A late message frees its connection when it is through
//   the network.
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

  // Fault `table` of the scenario begins or ends: of those that cut links or are about messages. `node`:
  // whose turn it is; without one it is that of all whom the table names.
  void begin(std::size_t table, std::optional<NodeId> node = std::nullopt);
  void end(std::size_t table, std::optional<NodeId> node = std::nullopt);
  // All faults of this kind are over.
  void end_all(std::string_view kind);

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

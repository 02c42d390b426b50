// One shard during one call: its state, its log, the date, and the receiver of messages and decisions. The
// parts of a shard's server get it with every call, so they hold no references to one another.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/protocol/server/outbox.hpp"
#include "sim/protocol/server/replication.hpp"
#include "sim/protocol/server/shard_state.hpp"

namespace psim {

struct ShardContext {
  ShardState& state;
  Replication& replication;
  double now;
  Outbox& out;

  void send(NodeId node, Body body) const { out.send(replication.message_to(node, std::move(body))); }
  void tell_membership(std::uint32_t worker) const {
    out.membership_changed(state.node_of(worker), state.workers[worker]);
  }
  // Pushes of this worker before number `oldest_resendable` are lost with a former owner, unless this server
  // has them. Returns whether any are lost.
  bool skip_lost(std::uint32_t worker, std::int64_t oldest_resendable) const;
  // The worker has resumed at the others' clock.
  void end_rejoining(std::uint32_t worker) const;
};

}  // namespace psim

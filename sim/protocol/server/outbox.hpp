// The messages and decisions of a shard's server.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sim/protocol/message.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

// Receives a server's decisions.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(Message message) = 0;
  // Repeats a message that is not confirmed.
  virtual void send_again(Message message) { send(std::move(message)); }
  // Sends to all other shards, on any server.
  virtual void announce(UpdateGroup group) = 0;
  // `staleness`: version when applied less version computed on, in updates.
  virtual void applied(const Push& push, std::int64_t staleness) = 0;
  virtual void dropped(const Push& push) = 0;
  // The push has arrived before, and this copy does not count.
  virtual void duplicate(const Push& push) = 0;
  // The server does not take the push: it is for another owner, its worker takes no part, it is a second copy
  // of a push that waits for its predecessor, or its number was skipped.
  virtual void refused(const Push& /*push*/) {}
  virtual void updated(std::int64_t version) = 0;
  // A replica now has all safe entries.
  virtual void copied(NodeId) {}
  // A worker's clock or membership changes without a push.
  virtual void membership_changed(NodeId, const WorkerClocks::Worker&) {}
  // The server owns the shard from now on.
  virtual void promoted() {}
  // Where workers run the optimizer: the copy with which each worker begins.
  virtual std::shared_ptr<const Parameters> first_copy() { return {}; }
};

}  // namespace psim

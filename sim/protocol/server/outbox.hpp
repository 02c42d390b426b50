// What a shard's server hands on: its messages, and what it decides.
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
  // Sends to every other shard, on whatever server.
  virtual void announce(UpdateGroup group) = 0;
  // `staleness`: version when applied less version computed on, in updates.
  virtual void applied(const Push& push, std::int64_t staleness) = 0;
  virtual void dropped(const Push& push) = 0;
  // The push has arrived before, and does not count again.
  virtual void duplicate(const Push& push) = 0;
  // The push is not taken: it is for another owner, of a worker that takes no part, a second copy of one that
  // waits for its predecessor, or of a number that was skipped.
  virtual void refused(const Push& /*push*/) {}
  virtual void updated(std::int64_t version) = 0;
  // A replica has come to have everything that is safe.
  virtual void copied(NodeId) {}
  // A worker's clock or membership changes by something other than a push.
  virtual void membership_changed(NodeId, const WorkerClocks::Worker&) {}
  // The server owns the shard from now on.
  virtual void promoted() {}
  // Where workers run the optimizer: what each of them begins with.
  virtual std::shared_ptr<const Parameters> first_copy() { return {}; }
};

}  // namespace psim

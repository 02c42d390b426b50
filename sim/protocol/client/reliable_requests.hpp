// A client's requests where messages may get lost: each is sent again until it is answered, or to the shard's
// new owner, and says from which push on the client can still repeat its pushes.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/protocol/client/client_outbox.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

class ReliableRequests {
 public:
  // How many pushes the client has sent to a shard, by its number in the run.
  using PushesTo = std::function<std::int64_t(std::uint32_t)>;
  ReliableRequests(RetrySpec spec, ClientOutbox& out, PushesTo pushes_to)
      : queue_(spec), out_(out), pushes_to_(std::move(pushes_to)) {}

  RetryQueue& queue() { return queue_; }
  const RetryQueue& queue() const { return queue_; }

  void send(Message request);
  // Those that are due.
  void repeat(double now);
  // All of the shard, which has this owner now.
  void send_to(std::uint32_t shard, const Owner& owner);

 private:
  Message with_oldest(Message request) const;
  Message again(Message request) const;

  RetryQueue queue_;
  ClientOutbox& out_;
  PushesTo pushes_to_;
};

}  // namespace psim

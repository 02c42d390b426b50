// A client's requests where messages may get lost. The client repeats each request until it is answered, and
// also sends it to the shard's new owner. Each request gives the number of the first push that the client can
// still repeat.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/protocol/client/client_outbox.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

class ReliableRequests {
 public:
  // The number of pushes that the client has sent to a shard. Shards have their number in the run.
  using PushesTo = std::function<std::int64_t(std::uint32_t)>;
  ReliableRequests(RetrySpec spec, ClientOutbox& out, PushesTo pushes_to)
      : queue_(spec), out_(out), pushes_to_(std::move(pushes_to)) {}

  RetryQueue& queue() { return queue_; }
  const RetryQueue& queue() const { return queue_; }

  void send(Message request);
  // Repeats the requests that are due.
  void repeat(double now);
  // Sends all requests of the shard to this new owner.
  void send_to(std::uint32_t shard, const Owner& owner);

 private:
  Message with_oldest(Message request) const;
  Message again(Message request) const;

  RetryQueue queue_;
  ClientOutbox& out_;
  PushesTo pushes_to_;
};

}  // namespace psim

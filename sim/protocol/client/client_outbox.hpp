// The interface between a client and the process and network around it.
#pragma once

#include <cstdint>

#include "sim/protocol/cause.hpp"
#include "sim/protocol/key_space.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/protocol/view.hpp"

namespace psim {

// Receives a client's messages and decisions. Shards are numbered within the job.
class ClientOutbox {
 public:
  virtual ~ClientOutbox() = default;
  virtual double now() const = 0;             // seconds
  virtual Cause cause() const { return {}; }  // of the client's current action
  virtual void send(Message request) = 0;     // for the first time, or to a shard's new owner
  // The client repeats a request without an answer; `asked` is the cause of the first request.
  virtual void send_again(Message request, const Cause& asked) = 0;
  virtual void lend(Message copy) = 0;  // this worker's weights, to a server that asks for them
  // Whether the request or its answer may be lost. Otherwise a repetition would only delay them.
  virtual Due due(const Message& /*request*/) const { return Due::repeated; }
  virtual void give_up() {}
  // The server says in this message that the worker's first `pushes` pushes are safe.
  virtual void is_safe(const Message& /*message*/, std::int64_t /*pushes*/) {}
  virtual void received(std::uint32_t /*shard*/, const Slice& /*weights*/) {}
  virtual void has_new_owner(std::uint32_t /*shard*/) {}
  // A shard becomes two; `keys`: the shards after the cut.
  virtual void was_cut(const Cut& /*cut*/, const KeySpace& /*keys*/) {}
};

}  // namespace psim

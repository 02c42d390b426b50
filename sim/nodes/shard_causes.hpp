// What a server's decisions about its shards could not do without, for the record: which push an outcome is
// of; which pull, version and push of its own an answer waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "sim/protocol/message.hpp"
#include "sim/protocol/server/shard_server.hpp"

namespace psim {

class ShardCauses {
 public:
  // A pull or a push is there; events are told by their numbers.
  void arrives(const Message& message);
  // The arrival of a push that has an outcome now; -1: it came with the shard.
  std::int64_t take(std::uint32_t shard, const PushId& push);
  void has_outcome(std::uint32_t shard, const PushId& push, std::int64_t event);
  void makes(std::uint32_t shard, std::int64_t version, std::int64_t event);
  // What an update comes of that is made because its time is over: its first push, or the update before.
  std::int64_t closing(std::uint32_t shard, bool by_window) const;
  // Likewise; -1: it is not due at `now`.
  std::int64_t closing(const ShardServer& server, double now) const;
  // Of an answer to its receiver's last pull. `server`: of the shard; null: it is not here.
  Dependencies of_answer(const Message& answer, const ShardServer* server) const;
  // ... beside the clock that it waits for.
  Dependencies of_answer(std::uint32_t shard, NodeId worker) const;

 private:
  struct Asked {
    std::int64_t arrival, above, pushes;
  };
  using Of = std::pair<std::uint32_t, NodeId>;                         // shard, worker
  using Numbered = std::deque<std::pair<std::int64_t, std::int64_t>>;  // rising; and the events
  std::map<std::pair<std::uint32_t, PushId>, std::int64_t> pushes_;    // without an outcome: their arrivals
  std::map<Of, Asked> pulls_;
  std::map<Of, Numbered> outcomes_;             // the last ones, by the numbers of the pushes
  std::map<std::uint32_t, Numbered> versions_;  // likewise
};

}  // namespace psim

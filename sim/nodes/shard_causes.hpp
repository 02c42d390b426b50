// The events that a server's decisions depend on, for the record: the push of an outcome; the pull, the
// version and the own push that an answer waits for.
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
  // A pull or a push has come. Events are known by their numbers.
  void arrives(const Message& message);
  // The arrival of a push that gets its outcome now; -1: the push came with the shard.
  std::int64_t take(std::uint32_t shard, const PushId& push);
  void has_outcome(std::uint32_t shard, const PushId& push, std::int64_t event);
  void makes(std::uint32_t shard, std::int64_t version, std::int64_t event);
  // The cause of an update that closes because its time is over: its first push, or the update before.
  std::int64_t closing(std::uint32_t shard, bool by_window) const;
  // The same for a server's shard; -1: no update is due at `now`.
  std::int64_t closing(const ShardServer& server, double now) const;
  // The dependencies of an answer to its receiver's last pull. `server`: that of the shard; null: the shard
  // is not here.
  Dependencies of_answer(const Message& answer, const ShardServer* server) const;
  // The same, without the clock that the answer waits for.
  Dependencies of_answer(std::uint32_t shard, NodeId worker) const;

 private:
  struct Asked {
    std::int64_t arrival, above, pushes;
  };
  using Of = std::pair<std::uint32_t, NodeId>;                         // shard, worker
  using Numbered = std::deque<std::pair<std::int64_t, std::int64_t>>;  // rising numbers, and their events
  std::map<std::pair<std::uint32_t, PushId>, std::int64_t> pushes_;  // arrivals of pushes without an outcome
  std::map<Of, Asked> pulls_;
  std::map<Of, Numbered> outcomes_;             // the last outcomes, by push number
  std::map<std::uint32_t, Numbered> versions_;  // the last versions, by number
};

}  // namespace psim

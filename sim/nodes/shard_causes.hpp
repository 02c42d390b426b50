// The events that a server's decisions depend on, for the record: the push of an outcome; the pull, the
// version and the own push that an answer waits for.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/protocol/server/shard_server.hpp"

namespace psim {

class ShardCauses {
 public:
  // `nodes`: the expected number of nodes that send messages to these shards.
  explicit ShardCauses(std::size_t nodes = 0) : nodes_(nodes) {}

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
  using Numbered = boost::container::small_vector<std::pair<std::int64_t, std::int64_t>, 1>;
  // A run may have a million of these over all shards.
  struct OfWorker {
    std::int64_t arrival = -1, above = -1, pushes = 0;  // of its last pull; -1: none yet
    Numbered outcomes = {};  // of its last pushes: their rising numbers, and events
  };
  struct Arrival {
    PushId push;
    std::int64_t event = -1;
  };
  struct OfShard {
    std::vector<OfWorker> workers = {};          // by node
    Arrival newest = {};                         // most pushes get their outcome when they arrive
    std::map<PushId, std::int64_t> before = {};  // earlier arrivals of pushes without an outcome
    std::deque<std::pair<std::int64_t, std::int64_t>> versions = {};  // the last ones, and their events
  };
  OfWorker& of(std::uint32_t shard, NodeId worker);

  std::size_t nodes_;
  std::map<std::uint32_t, OfShard> shards_;
};

}  // namespace psim

// A server's role in the scheduler's views: owner of a shard, holder of a copy, or neither. A server that
// becomes the owner of a shard asks every node that may have some of its state.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/nodes/server/server_shards.hpp"

namespace psim {

class ServerFailover {
 public:
  ServerFailover(JobContext& job, NodeId node, ServerShards& shards)
      : job_(job), node_(node), shards_(shards), asks_(job.plan.retry()) {}

  void on_view(const SharedView& view);
  // The state of a shard, or its newest part, comes from the owner, from a copy, or from the storage.
  void on_state(const Message& message, const State& state);
  // The next owner of a shard asks for it.
  void hand_over(const Message& message, const Restore& request);
  // A log entry has come for a shard that is not here.
  void lacks_state(const Message& entry);
  // Whether this server must wait for a view or for a shard before it can handle the message.
  bool is_early(const Message& message) const;

  // The date of the next repetition of unanswered messages.
  std::optional<double> next_turn() const;
  void repeat(double now);

  // Whether other servers have all shards. `has_got` tells whether a new owner has got the shard that it
  // needs from this server.
  bool has_given_all(const std::function<bool(std::uint32_t shard, const Owner&)>& has_got) const;

 private:
  void take_place(std::uint32_t shard, const Owner& owner, const Release& cause);
  bool holds_copy(const Owner& owner) const;
  std::optional<NodeId> next_in_chain(const Owner& owner) const;
  void lead(ShardServer& server, const Owner& owner, const Release& cause);
  std::optional<NodeId> next_peer(std::uint32_t shard) const;
  bool has_newest(std::uint32_t shard) const;
  void start_asking(std::uint32_t shard, const Release& cause);
  void ask_again(const Release& cause);
  void ask_for(std::uint32_t shard, const Release& cause);
  void begin(std::uint32_t shard, const Release& cause);
  void on_peer(const Message& message, const State& answer);
  void on_copy(const Message& message, const State& copy);
  void confirm(std::uint32_t shard, const Owner& owner, std::optional<std::int64_t> entries);

  JobContext& job_;
  NodeId node_;
  ServerShards& shards_;
  std::vector<bool> members_;  // by worker: whether it takes part in the last view
  // Shards that this server will own, and the nodes that have answered for each.
  std::map<std::uint32_t, std::set<NodeId>> wanted_;
  // The newest worker's copy of each of these shards so far, if workers run the optimizer.
  std::map<std::uint32_t, State> copies_;
  // Shards that the current view has cut, and that this server led until then.
  std::set<std::uint32_t> led_;
  double asked_ = 0, asks_again_after_ = 0;  // date of the last question, and the wait until the next
  Backoff asks_;
};

}  // namespace psim

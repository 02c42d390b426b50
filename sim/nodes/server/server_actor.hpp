// A server's actor. It takes messages one by one, spends the time that they cost, and passes them to its
// shards.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/nodes/server/server_shards.hpp"

namespace psim {

// A server's role in the scheduler's views: owner of a shard, holder of a copy, or neither. A server that
// becomes the owner of a shard asks every node that may have some of its state.
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

class ServerActor {
 public:
  // `index`: the server's number, from 0.
  ServerActor(JobContext& job, std::uint32_t index)
      : job_(job),
        node_(job.plan.first_server() + index),
        shards_(job, index),
        failover_(job, node_, shards_) {}
  ServerActor(const ServerActor&) = delete;
  ServerActor& operator=(const ServerActor&) = delete;

  // The actor's body; never returns.
  void run();
  // `other`: the same server's part in another job. This actor also acts for it.
  void act_for(ServerActor& other) { parts_.push_back(&other); }

  ServerShards& shards() { return shards_; }
  const ServerShards& shards() const { return shards_; }

  // The server leaves as soon as other servers have its shards. It says so instead of a heartbeat.
  void leave_soon() { is_leaving_ = true; }
  bool is_leaving() const { return is_leaving_; }
  // Whether other servers have this job's shards.
  bool has_given_all(const std::function<bool(std::uint32_t shard, const Owner&)>& has_got) const {
    return shards_.are_gone() || failover_.has_given_all(has_got);
  }
  // The run is over: discards pushes that no server will apply.
  void discard_rest();

 private:
  std::optional<double> next_turn() const;
  void take_turn();
  void enter();
  void on(Message&& message);
  void on_view(const SharedView& view);
  void hear(const SharedView& view);
  void dispatch(Message&& message, const std::optional<Release>& because = {});
  void take(Message&& message, const std::optional<Release>& because);
  ServerActor& localize(Message& message);
  void keep(Message message);
  void take_early(Release cause);
  void take_snapshots();

  JobContext& job_;
  NodeId node_;
  ServerShards shards_;
  ServerFailover failover_;
  // The parts for which this actor acts: itself, and the same server's parts in other jobs. The members of a
  // part number its own job's shards from 0.
  std::vector<ServerActor*> parts_{this};
  bool is_leaving_ = false;
  // Messages of later epochs, or for shards that have not come yet.
  std::deque<Message> early_;
  std::map<std::uint32_t, std::int64_t> last_snapshot_;  // by shard: due snapshots so far
  // The message that the server spends time on now; no longer in the inbox.
  std::optional<Message> in_hand_;
};

}  // namespace psim

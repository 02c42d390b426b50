// A server's actor: takes messages one by one, spends the time that they cost, and lets its shards act.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sim/nodes/server_failover.hpp"
#include "sim/nodes/server_shards.hpp"

namespace psim {

class ServerActor {
 public:
  // `index`: of the server, from 0.
  ServerActor(JobContext& job, std::uint32_t index)
      : job_(job),
        node_(job.plan.first_server() + index),
        shards_(job, index),
        failover_(job, node_, shards_) {}
  ServerActor(const ServerActor&) = delete;
  ServerActor& operator=(const ServerActor&) = delete;

  // The actor's body; never returns.
  void run();
  // The same server's part in another job, for which this actor acts as well.
  void act_for(ServerActor& other) { parts_.push_back(&other); }

  ServerShards& shards() { return shards_; }
  const ServerShards& shards() const { return shards_; }

  // Goes as soon as its shards are elsewhere; it says so instead of a heartbeat.
  void leave_soon() { is_leaving_ = true; }
  bool is_leaving() const { return is_leaving_; }
  // Whether this job's shards are elsewhere.
  bool has_given_all(const std::function<bool(std::uint32_t shard, const Owner&)>& has_got) const {
    return shards_.are_gone() || failover_.has_given_all(has_got);
  }
  // The run is over: pushes that nobody will apply.
  void discard_rest();

 private:
  std::optional<double> next_turn() const;
  void take_turn(double now);
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
  // Itself and, where this one has the actor, those of the other jobs. What a part has numbers its own
  // shards.
  std::vector<ServerActor*> parts_{this};
  bool is_leaving_ = false;
  std::deque<Message> early_;                            // of epochs to come, or for shards that are to come
  std::map<std::uint32_t, std::int64_t> last_snapshot_;  // by shard: how many have been due
  std::optional<Message> in_hand_;  // taken from the inbox, and paid for with time that is not over yet
};

}  // namespace psim

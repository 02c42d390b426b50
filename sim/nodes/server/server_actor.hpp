// A server's actor. It takes messages one by one, spends the time that they cost, and passes them to its
// shards.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sim/nodes/server/server_failover.hpp"
#include "sim/nodes/server/server_shards.hpp"

namespace psim {

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

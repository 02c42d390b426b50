// Makes the updates of one shard. It takes pushes, drops late pushes, applies the pushes that the update rule
// chooses (update_rule.hpp), and logs its decisions. An object serves one call.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/protocol/server/shard_context.hpp"
#include "sim/protocol/server/waiting_pulls.hpp"

namespace psim {

class UpdateMaker {
 public:
  // `pulls`: the pulls of the same shard. They show which workers wait for others.
  UpdateMaker(const ShardContext& shard, const WaitingPulls& pulls)
      : shard_(shard), state_(shard.state), pulls_(pulls) {}

  struct Taken {
    bool is_dropped = false;
    std::optional<Decision> decision = {};  // of the policy; none: the push is dropped, or decided elsewhere
  };
  // A worker's next push: it now waits for an update, or is dropped.
  Taken take(const Push& push);
  // Makes all updates that are complete. Returns whether they concern workers with a waiting pull. `on_push`:
  // the policy's decision about the push that has just come.
  bool make_complete(const std::optional<Decision>& on_push = {});

  // Takes a decision of the first shard, which decides for all. Returns whether it makes an update at this
  // shard.
  bool follow(const UpdateGroup& decision);
  // First shard: answers with its last decision, but with no older one. Future decisions go to all shards
  // anyway. Where late pushes count, the answer sums up all decisions so far: each worker's last decided
  // push.
  void tell_decision(NodeId from, const Decide& question) const;
  // Another shard: asks for a decision of the first shard that it lacks, if none has come for `timeout`
  // seconds. Returns whether updates were made instead.
  bool ask_for_decision(double timeout);

  // A function that a task calls. The pushes that it applies have arrived: their tasks ended before.
  Returned call(const Call& call);

 private:
  bool comes_too_late(const Push& push) const;
  std::optional<Decision> wait_for_update(const Push& push);
  void drop(const Push& push);
  bool make_next(const std::optional<Decision>& on_push);
  void update_with(WeighedPushes pushes);

  const ShardContext shard_;
  ShardState& state_;
  const WaitingPulls& pulls_;
};

}  // namespace psim

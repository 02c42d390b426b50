// One server's part for one shard, as its owner or as a copy. It has the shard's state and the parts that
// change it, and calls these parts in the right order for each message. Pure: no SimGrid, no clock of its
// own; a test drives it with a list of messages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/protocol/server/outbox.hpp"
#include "sim/protocol/server/pull_desk.hpp"
#include "sim/protocol/server/push_intake.hpp"
#include "sim/protocol/server/replication.hpp"
#include "sim/protocol/server/shard_context.hpp"
#include "sim/protocol/server/shard_invariants.hpp"
#include "sim/protocol/server/shard_state.hpp"
#include "sim/protocol/server/waiting_pulls.hpp"

namespace psim {

// Makes the updates of one shard. It takes pushes, drops late pushes, applies the pushes that the update rule
// chooses (update_rule.hpp), and logs its decisions. An object serves one call.
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

class ShardServer {
 public:
  struct Options {
    NodeId id = 1;  // the server
    ShardState::Options state = {};
    bool confirms = false;  // confirms at once that a push has arrived, so its worker need not send it again
    ReplicationSpec replication = {};
    RetrySpec resend = {};  // for entries that replicas do not confirm
    bool checked = false;   // throws BrokenShard after a step that breaks an invariant
  };
  using Extent = ReplicatedLog::Extent;

  // The first owner. `weights`: the range's first content; empty for a phantom model of `count` values.
  ShardServer(const Options& options, std::optional<Values> weights, std::size_t count);
  // A copy, made from the state that another server or the storage has sent, until this server becomes the
  // owner. The sent state has its own options.
  ShardServer(const Options& options, const State& sent);

  void on(const Message& message, double now, Outbox& out);
  // The values of a worker's last answer after filters; its next push is computed on them.
  void was_sent_filtered(NodeId worker, const Slice& values);

  const ShardState& state() const { return state_; }
  const ReplicatedLog& log() const { return replication_.log(); }
  std::int64_t version() const { return state_.version; }
  NodeId id() const { return replication_.role().server; }
  std::uint32_t shard() const { return replication_.role().shard; }
  std::uint32_t epoch() const { return replication_.role().epoch; }
  bool leads() const { return replication_.leads(); }
  // Pushes that wait until their group is complete, and pushes that came before earlier pushes of their
  // worker.
  const std::vector<Push>& pending() const { return state_.updates.pending(); }
  std::vector<Push> early() const { return intake_.early(); }
  // Pulls that wait because of the consistency model.
  WaitingPulls::All waiting() const { return desk_.pulls().all(); }
  // Whether the answer waits for another worker's copy, and this server searches for that copy.
  bool looks_for_copy(const Pull& pull) const { return desk_.looks_for_copy(pull, state_); }

  // Makes this server the owner of the shard, in this ownership epoch and with these replicas. It ignores
  // messages of other epochs. New replicas and the next owner receive its state.
  void lead(NodeId self, const Owner& owner, double now, Outbox& out);
  // Makes this server a copy of `primary`, which passes entries on to `next` if `next` is set. It keeps its
  // state of another epoch, but takes no entries until the primary's state arrives.
  void follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next);
  // This copy is only a part of the shard of the log, so it takes no more entries of that log.
  void leave_log() { replication_.leave_log(); }
  // The extent of this server's state.
  Extent extent() const { return log().extent(); }
  // The number of entries of the log of epoch `epoch` that this replica has; -1: it lacks even the state
  // before them.
  std::int64_t entries_in(std::uint32_t epoch) const {
    return log().in_step() && epoch == this->epoch() ? extent().entries : -1;
  }
  // Workers that take part, by number.
  void set_members(const std::vector<bool>& members, double now, Outbox& out);
  // The date when the next update closes with the pushes that have arrived, and the update itself.
  std::optional<double> closes_at(double now) const;
  void close(double now, Outbox& out);
  // The date when entries are sent to replicas again, and the sending.
  std::optional<double> next_resend() const;
  void resend(double now, Outbox& out);
  // The whole shard as a message. If only updates are replicated, it has no pending pushes; their workers
  // send them again.
  State whole_state() const { return replication_.whole_state(state_); }
  // The data that a next owner with this extent still lacks: entries of the log, if they are kept.
  State log_suffix_after(Extent theirs) const { return replication_.log_suffix_after(theirs, state_); }
  void take_log_suffix(const std::vector<SharedEntry>& entries);
  // Continues from this worker's copy: all other data of the shard are lost.
  void adopt(const State& copy) { desk_.copies().adopt(copy, state_); }

 private:
  ShardServer(const Options& options, ShardState state, Replication replication);
  ShardContext context(double now, Outbox& out) { return {state_, replication_, now, out}; }
  UpdateMaker updates(const ShardContext& shard) const { return {shard, desk_.pulls()}; }

  void on_push(const Push& push, const ShardContext& shard);
  void on_pull(NodeId from, const Pull& pull, const ShardContext& shard);
  void read(const Push& push, const ShardContext& shard);
  void take(const Push& push, const ShardContext& shard);
  void take_early(std::uint32_t worker, const ShardContext& shard);
  void begin_to_lead(const ShardContext& shard);
  void check() {
    if (checked_) invariants_.check(*this);
  }

  ShardState state_;
  Replication replication_;
  PushIntake intake_;
  PullDesk desk_;
  ShardInvariants invariants_;
  double resend_after_;  // seconds
  bool checked_;
};

}  // namespace psim

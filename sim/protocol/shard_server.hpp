// One server's part for one shard, as its owner or as a copy. It takes pushes and pulls, makes updates, and
// keeps the copies up to date. Pure: no SimGrid, no clock of its own; a test drives it with a list of
// messages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/copy_search.hpp"
#include "sim/protocol/early_pushes.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/pulls.hpp"
#include "sim/protocol/replicated_log.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/protocol/shard_invariants.hpp"
#include "sim/protocol/shard_state.hpp"

namespace psim {

// Receives a server's decisions.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(Message message) = 0;
  // Repeats a message that is not confirmed.
  virtual void send_again(Message message) { send(std::move(message)); }
  // Sends to every other shard, on whatever server.
  virtual void announce(UpdateGroup group) = 0;
  // `staleness`: version when applied less version computed on, in updates.
  virtual void applied(const Push& push, std::int64_t staleness) = 0;
  virtual void dropped(const Push& push) = 0;
  // The push has arrived before, and does not count again.
  virtual void duplicate(const Push& push) = 0;
  // The push is not taken: it is for another owner, of a worker that takes no part, a second copy of one that
  // waits for its predecessor, or of a number that was skipped.
  virtual void refused(const Push& /*push*/) {}
  virtual void updated(std::int64_t version) = 0;
  // A replica has come to have everything that is safe.
  virtual void copied(NodeId) {}
  // A worker's clock or membership changes by something other than a push.
  virtual void membership_changed(NodeId, const WorkerClocks::Worker&) {}
  // The server owns the shard from now on.
  virtual void promoted() {}
  // Where workers run the optimizer: what each of them begins with.
  virtual std::shared_ptr<const Parameters> first_copy() { return {}; }
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

  // The first owner. `weights` is the range's initial content; empty for a phantom model of `count` values.
  ShardServer(Options options, std::optional<Values> weights, std::size_t count);
  // A copy, made of what another server or the storage has sent, until this server is told to lead.
  ShardServer(Options options, const State& sent);

  void on(const Message& message, double now, Outbox& out);
  // The values of a worker's last answer after filters; its next push is computed on them.
  void was_sent_filtered(NodeId worker, const Slice& values);

  const ShardState& state() const { return state_; }
  const ReplicatedLog& log() const { return log_; }
  std::int64_t version() const { return state_.version; }
  NodeId id() const { return options_.id; }
  std::uint32_t shard() const { return options_.state.shard; }
  std::uint32_t epoch() const { return epoch_; }
  bool leads() const { return leads_; }
  // Pushes that wait for their group to be complete, and those that came before earlier ones of their
  // workers.
  const std::vector<Push>& pending() const { return state_.updates.pending(); }
  std::vector<Push> early() const { return early_.all(); }
  // Pulls that wait because of the consistency model.
  Pulls::All waiting() const { return pulls_.all(); }
  // Whether the answer waits for another worker's copy, for which this server looks.
  bool looks_for_copy(const Pull& pull) const { return needs_copy(pull) && copies_.next_turn().has_value(); }

  // Makes this server the owner of the shard, in this ownership epoch and with these replicas. It ignores
  // messages of other epochs. New replicas and the next owner receive its state.
  void lead(NodeId self, const Owner& owner, double now, Outbox& out);
  // Makes this server a copy of `primary`, which passes entries on to `next` if there is one. It keeps its
  // state of another epoch, but takes no entries until the primary's state arrives.
  void follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next);
  // This copy is only a part of the shard that the log was about, so it takes no more entries of that log.
  void leave_log() { log_.leave(); }
  // The extent of this server's state.
  Extent extent() const { return log_.extent(); }
  // The number of entries that this replica has of the log in epoch `epoch`; -1: it lacks even the state
  // before them.
  std::int64_t entries_in(std::uint32_t epoch) const {
    return log_.in_step() && epoch == epoch_ ? log_.extent().entries : -1;
  }
  // Workers that take part, by number.
  void set_members(const std::vector<bool>& members, double now, Outbox& out);
  // When the next update is made of the pushes that are there by then, and the making.
  std::optional<double> closes_at(double now) const;
  void close(double now, Outbox& out);
  // When replicas are to be sent entries again, and the sending.
  std::optional<double> next_resend() const;
  void resend(double now, Outbox& out);
  // The whole shard as a message. If only updates are replicated it has no pending pushes; their workers send
  // them again.
  State whole_state() const;
  // What a next owner with this extent still lacks: entries of the log, if they are kept.
  State log_suffix_after(Extent theirs) const;
  void take_log_suffix(const std::vector<SharedEntry>& entries);
  // Goes on where this worker's copy is: nobody else has anything of the shard.
  void adopt(const State& copy);

 private:
  void check() {
    if (options_.checked) invariants_.check(*this);
  }
  void on_push(const Push& push, double now, Outbox& out);
  void on_pull(NodeId from, const Pull& pull, double now, Outbox& out);
  void on_read(NodeId from, const Pull& pull, double now, Outbox& out) const;
  void on_group(const UpdateGroup& group, double now, Outbox& out);
  void on_decide(NodeId from, const Decide& question, Outbox& out) const;
  void on_call(NodeId from, const Call& call, double now, Outbox& out);
  void on_entry(const SharedEntry& entry, Outbox& out);
  void on_replicated(NodeId from, std::optional<std::int64_t> entries, double now, Outbox& out);

  void read(const Push& push, double now, Outbox& out);
  void take(const Push& push, double now, Outbox& out);
  void take_early(std::uint32_t worker, double now, Outbox& out);
  bool comes_too_late(const Push& push) const;
  void drop(const Push& push, Outbox& out);
  using Known = std::optional<Decision>;  // of the policy, about the push that has just come
  Known wait_for_update(const Push& push, double now, Outbox& out);
  bool update_if_complete(double now, Outbox& out, const Known& known = {});
  bool update_once(double now, Outbox& out, const Known& known);
  void update_with(WeighedPushes pushes, double now, Outbox& out);

  void answer_all(double now, Outbox& out);
  void answer(std::uint32_t worker, double now, Outbox& out);
  bool runs_on_sums() const { return options_.confirms && options_.state.weights.sum_only; }
  bool needs_copy(const Pull& pull) const;
  bool may_have_copy(std::uint32_t worker) const;
  bool find_copy(double now, Outbox& out);
  void on_copy(NodeId from, const State& state, double now, Outbox& out);
  void fill(Answer& answer, const Pull& pull) const;
  std::int64_t safe_pushes_of(std::uint32_t worker) const;

  void reconcile_worker(std::uint32_t worker, const Pull& pull, Outbox& out);
  void skip_lost(std::uint32_t worker, std::int64_t oldest_resendable, Outbox& out);
  void is_back(std::uint32_t worker, Outbox& out);
  void tell_membership(std::uint32_t worker, Outbox& out) const {
    out.membership_changed(state_.node_of(worker), state_.workers[worker]);
  }
  void begin_to_lead(Outbox& out);
  std::optional<std::int64_t> lacks_decision() const {
    return leads_ ? state_.updates.lacks_decision() : std::nullopt;
  }

  bool logs_pushes() const { return log_.has_copies() && log_.has_pushes(); }
  void deliver(const ReplicatedLog::Deliveries& deliveries, Outbox& out) const;
  Message to(NodeId node, Body body) const {
    return {.from = options_.id, .to = node, .shard = shard(), .epoch = epoch_, .body = std::move(body)};
  }
  void send(NodeId node, Body body, Outbox& out) const { out.send(to(node, std::move(body))); }

  Options options_;
  ShardState state_;
  Pulls pulls_;
  EarlyPushes early_;
  std::vector<KeyMemory> known_keys_;  // by worker: of its pushes in this epoch
  std::vector<KeyMemory> asked_keys_;  // likewise, of its pulls
  CopySearch copies_;
  ReplicatedLog log_;
  ShardInvariants invariants_;
  bool leads_ = true;
  std::uint32_t epoch_ = 0;
};

}  // namespace psim

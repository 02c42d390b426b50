// A server's part in the copies of one shard. The owner logs its decisions and sends them; a copy applies the
// owner's entries. This class has the log and the server's role; the shard's state comes with each
// call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/protocol/replication_spec.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/protocol/server/outbox.hpp"
#include "sim/protocol/server/shard_state.hpp"

namespace psim {

// How the copies of a shard follow its owner: they first receive a state, then a log of the owner's
// decisions. A replica applies the entries in order. Pure: functions return the messages to send.
//
// A replica decides nothing. The log holds the owner's decisions: an update's sum, or, with every-push, a
// push and whether it completes the pending update; pushes that were dropped, or that will never come; and
// the workers that take part. So a replica reaches the same state even if it hears pulls, pushes or views in
// another order, or not at all. Decisions:
// - A replica counts entries of one ownership epoch only, from the state that the epoch's owner sent it.
//   Before that state it takes and confirms no entries. It ignores a state that comes after later entries.
// - The scheduler does not know which replica has the most entries. A new owner asks the previous owner, if
//   that is still alive and hands over, otherwise every replica in turn; a replica with later entries sends
//   its state. Replicas leave the old epoch before they answer, so no worker was told that an unconfirmed
//   entry is safe.
// - An update of a sparse model is logged as the sums of the weights that it touches, with their keys. Zeros
//   for all other weights would have another effect: momentum decays where a gradient is zero, but not where
//   a weight has no gradient.
// - The owner does not repeat an unconfirmed entry while the same entry is still on its way or in the queue
//   of its connection. Otherwise a queue longer than the longest wait would grow for ever.
// - A worker is told that a push is safe when all replicas have it, including replicas that still wait for
//   the state; but an answer does not wait for those replicas. So a new owner promises nothing about its
//   first state before the others have that state too.
// - Decisions of an owner without replicas are in no log, but count as one entry: a replica that comes back
//   within the epoch receives the state again.
// - Where only fresh pushes count, an answer waits until its version is on all replicas. Otherwise a worker
//   could push to a version that a crash undoes, and come too late for ever.
// - The log also records which workers were sent which weights, because delay compensation needs the weights
//   on which a push was computed.
class ReplicatedLog {
 public:
  struct Options {
    ReplicationSpec replication = {};
    RetrySpec resend = {};  // of entries that copies do not confirm
    NodeId first_worker = 2;
    std::size_t workers = 0;
    bool shows_updates = false;  // an answer shows an update, so the replicas must have it too
  };
  struct WholeState {};  // the shard's state at the time of sending
  struct Delivery {
    NodeId to = 0;
    std::variant<WholeState, Replicate, Ready> what = {};
    bool again = false;  // it may have been sent before
  };
  using Deliveries = std::vector<Delivery>;
  // The extent of a log. The owner of a later epoch began with all safe entries of earlier epochs.
  struct Extent {
    std::uint32_t epoch = 0;    // the epoch of the log's owner
    std::int64_t entries = -1;  // its entries in that log; -1: none
    auto operator<=>(const Extent&) const = default;
  };

  explicit ReplicatedLog(Options options) : options_(options) {}
  // The log of a copy whose state has this extent.
  ReplicatedLog(Options options, Extent extent)
      : options_(options), epoch_(extent.epoch), entries_(extent.entries), in_step_(true) {}

  Extent extent() const { return {epoch_, entries_}; }
  // Whether each push is logged as it arrives, and not only updates.
  bool has_pushes() const { return options_.replication.when == ReplicateWhen::every_push; }
  // Forgets everything that is still to be sent to copies, and entries that came too early.
  void clear();

  // --- The owner's side

  // This server becomes the owner of the shard in epoch `epoch`. It begins with this number of pushes of each
  // worker, whatever happens to earlier owners.
  void begin(std::uint32_t epoch, std::vector<std::int64_t> pushes);
  // It is still the owner, or the owner again.
  void lead(std::uint32_t epoch);
  // Replicas in the order of the chain, and the next owner. New ones receive the state.
  Deliveries set_copies(const Owner& owner, double now);
  bool has_copies() const { return !copies_.empty(); }
  bool has_replicas() const { return std::ranges::any_of(copies_, &Follower::is_replica); }
  // The entry that collects the current decisions, if there are copies. append() completes it and sends it to
  // every replica, or to the first one of a chain.
  LogEntry& next() { return next_; }
  Deliveries append();
  // If every push is logged: completes the entry with the last push that arrived, if that was not too late.
  Deliveries append_push(bool updates);
  // Completes the entry with an update of these pushes, which leaves the `waiting` ones. The entry has their
  // sum; if copies already have the pushes, only a commit marker is logged.
  Deliveries append_update(const std::vector<Push>& pushes, const std::vector<Push>& waiting,
                           const std::function<LogEntry::Sum()>& sum);
  // A copy confirms all entries below `entries`; none: it lacks even the state before them. `is_new_replica`:
  // it is a replica that now has all safe entries. A next owner that has become a replica may lack some of
  // them at first, because no answer waited for it.
  struct Confirmed {
    bool is_known = false;
    bool is_new_replica = false;
    Deliveries deliveries = {};
  };
  Confirmed confirm(NodeId from, std::optional<std::int64_t> entries, double now);
  void commit();
  // Whether an answer to this worker shows nothing that a crash may undo.
  bool is_safe(std::size_t worker) const;
  // The number of the worker's first pushes that all replicas have.
  std::int64_t committed(std::size_t worker) const { return of_index(worker).committed; }
  // The number of first entries that all replicas have, or had before others became replicas.
  std::int64_t safe_entries() const { return committed_; }
  // How many entries each replica has confirmed.
  std::vector<std::pair<NodeId, std::int64_t>> confirmed() const;
  // The date of the next repetition, and the messages to repeat.
  std::optional<double> next_resend() const;
  Deliveries resend(double now);

  // --- A copy's side

  // This copy follows `primary`'s log and passes entries on to `next`. `in_step`: it has the state with which
  // this log began; otherwise it takes no entries until that state arrives.
  void follow(bool in_step, bool was_owner, NodeId primary, std::optional<NodeId> next);
  // This copy takes no more entries until the state arrives with which another log began.
  void leave() { in_step_ = false; }
  NodeId primary() const { return primary_; }
  bool in_step() const { return in_step_; }
  // The node to which this copy passes an entry.
  std::optional<NodeId> passes_on(const LogEntry& entry) const;
  // The entries that come next in the log, now that `entry` is here.
  std::vector<SharedEntry> take(const SharedEntry& entry);
  // Whether this entry comes next; then it counts as taken.
  bool takes(const LogEntry& entry);
  // The entries of a former owner's log that a next owner with this extent lacks; none: it needs the whole
  // state.
  std::optional<std::vector<SharedEntry>> log_suffix_after(Extent theirs) const;

 private:
  struct Follower {
    NodeId node;
    std::int64_t entries = 0;  // entries that it has
    bool has_state = false;    // it has received its first state
    double asked = 0;          // when it was last sent something that it has not confirmed
    double wait = 0;           // seconds from then until the repetition
    std::int64_t resent = 0;   // entries before this one may have been sent to it more than once
    bool is_replica = true;    // else it is only the next owner, and no answer waits for it
    bool is_full = false;      // it has confirmed, as a replica, everything that was safe
    bool is_next = false;      // the next owner: it is ready when it has ...
    std::int64_t backlog = 0;  // ... all entries that the log had when the state arrived
    double told = 0;           // when the scheduler was last told that it is ready
    bool is_ready() const { return is_next && has_state && entries >= backlog; }
    bool has(std::int64_t all) const { return has_state && entries == all; }
  };
  struct OfWorker {
    std::int64_t entry = 0;      // one more than the entry with its last push
    std::int64_t committed = 0;  // pushes that all replicas have
    std::int64_t begun = 0;      // pushes that this server had when it became the owner
  };
  OfWorker& of(NodeId worker) {
    if (workers_.empty()) workers_.resize(options_.workers);
    return workers_[worker - options_.first_worker];
  }
  OfWorker of_index(std::size_t worker) const { return workers_.empty() ? OfWorker{} : workers_[worker]; }
  void tell_if_ready(Follower& copy, double now, Deliveries& out) const;
  void commit_through(std::int64_t entry);
  std::int64_t replicated_index() const;

  Options options_;
  std::uint32_t epoch_ = 0;
  std::int64_t entries_ = 0;                  // entries in the log; for a copy, entries taken from it
  std::map<std::int64_t, SharedEntry> log_;   // owner: some copies lack these; copy: they came too early
  std::map<std::int64_t, SharedEntry> past_;  // entries of a former owner, for the next one
  // Owner.
  std::vector<Follower> copies_;
  LogEntry next_;                  // the decisions since the last entry
  std::int64_t committed_ = 0;     // entries that are safe
  std::int64_t update_ = 0;        // one more than the entry with the last update
  std::vector<OfWorker> workers_;  // empty while nothing is known: most shards have no copies
  // Copy.
  bool in_step_ = false;
  NodeId primary_ = 0;
  std::optional<NodeId> next_in_chain_;
};

// The extent of a state that was sent.
inline ReplicatedLog::Extent extent_of(const State& state) { return {state.log_epoch, state.entries}; }

class Replication {
 public:
  using Extent = ReplicatedLog::Extent;
  struct Role {
    NodeId server = 1;
    std::uint32_t shard = 0;
    std::uint32_t epoch = 0;  // of ownership
    bool leads = true;        // the server is the shard's owner
  };

  // The first owner of a shard with these options.
  Replication(const ReplicationSpec& replication, const RetrySpec& resend, const ShardState::Options& shard,
              NodeId server);
  // A copy whose state has this extent.
  Replication(const ReplicationSpec& replication, const RetrySpec& resend, const ShardState::Options& shard,
              NodeId server, Extent extent);

  const Role& role() const { return role_; }
  bool leads() const { return role_.leads; }
  const ReplicatedLog& log() const { return log_; }
  Message message_to(NodeId node, Body body) const;

  // --- The owner's side

  // The server leads in this epoch. Returns whether it has not led in it before.
  bool lead(NodeId server, std::uint32_t epoch, const ShardState& state);
  void set_copies(const Owner& owner, const ShardState& state, double now, Outbox& out);
  // The log entry that collects the current decisions; null without copies.
  LogEntry* next_entry() { return log_.has_copies() ? &log_.next() : nullptr; }
  // The same, if every push is logged; null otherwise.
  LogEntry* next_entry_of_push() { return log_.has_pushes() ? next_entry() : nullptr; }
  // Completes the entry: with its push, if that made no update; with these members; or with an update.
  void log_push(const ShardState& state, Outbox& out);
  void log_members(const std::vector<bool>& members, const ShardState& state, Outbox& out);
  void log_update(const std::vector<Push>& pushes, const ShardState& state,
                  const std::function<LogEntry::Sum()>& sum, Outbox& out);
  // A copy confirms entries. Returns whether it is a copy of this owner.
  bool confirm(NodeId from, std::optional<std::int64_t> entries, const ShardState& state, double now,
               Outbox& out);
  // Whether an answer to this worker shows nothing that a crash may undo.
  bool may_answer(std::uint32_t worker) const { return role_.leads && log_.is_safe(worker); }
  // The number of the worker's first pushes that no single crash undoes.
  std::int64_t safe_pushes_of(std::uint32_t worker, const ShardState& state) const;
  void resend(const ShardState& state, double now, Outbox& out);

  // --- A copy's side

  // The server follows `primary` in this epoch, and passes entries on to `next` if there is one.
  void follow(NodeId server, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next);
  void leave_log() { log_.leave(); }
  // Applies the entries that come next in the log, now that `entry` is here, and confirms them.
  void take(const SharedEntry& entry, ShardState& state, Outbox& out);
  // Applies entries of the log that this copy continues; some may have arrived in the usual way.
  void take_log_suffix(const std::vector<SharedEntry>& entries, ShardState& state);

  // --- A shard as a message

  // If only updates are replicated, the state has no pending pushes; their workers send them again.
  State whole_state(const ShardState& state) const;
  // The data that a next owner with this extent still lacks: entries of the log, if they are kept.
  State log_suffix_after(Extent theirs, const ShardState& state) const;

 private:
  void deliver(const ReplicatedLog::Deliveries& deliveries, const ShardState& state, Outbox& out) const;

  ReplicatedLog log_;
  Role role_;
};

}  // namespace psim

// How the copies of a shard come to have what its owner has: a state to begin with, then a log of what the
// owner decides. A replica applies the entries in their order. Pure: whatever is to be sent is returned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "sim/protocol/membership.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/retry.hpp"

namespace psim {

class ReplicatedLog {
 public:
  struct Options {
    ReplicationSpec replication = {};
    RetrySpec resend = {};  // of entries that copies do not confirm
    NodeId first_worker = 2;
    std::size_t workers = 0;
    bool shows_updates = false;  // an answer shows an update: that must be on the replicas as well
  };
  struct WholeState {};  // of the shard, as it is when it is sent
  struct Delivery {
    NodeId to = 0;
    std::variant<WholeState, Replicate, Ready> what = {};
    bool again = false;  // perhaps: it has been sent before
  };
  using Deliveries = std::vector<Delivery>;
  // How far a log goes. A later epoch's owner began with all that is safe of earlier ones.
  struct Extent {
    std::uint32_t epoch = 0;    // whose owner's log it is from
    std::int64_t entries = -1;  // of that log; -1: nothing
    auto operator<=>(const Extent&) const = default;
  };

  explicit ReplicatedLog(Options options) : options_(options), workers_(options.workers) {}
  // A copy's: with a state that goes so far.
  ReplicatedLog(Options options, Extent extent)
      : options_(options),
        epoch_(extent.epoch),
        entries_(extent.entries),
        workers_(options.workers),
        in_step_(true) {}

  Extent extent() const { return {epoch_, entries_}; }
  // Each push is logged as it comes in, and not updates only.
  bool has_pushes() const { return options_.replication.when == ReplicateWhen::every_push; }
  // All that was to be told to copies goes, and entries that came too early.
  void clear();
  // Entries that the next owner may ask for go as well.
  void clear_past() { past_.clear(); }

  // --- The owner's side

  // This server owns the shard in epoch `epoch`, which it did not before: it begins with so many pushes of
  // each worker, whatever becomes of earlier owners.
  void begin(std::uint32_t epoch, std::vector<std::int64_t> pushes);
  // It is the owner still, or again.
  void lead(std::uint32_t epoch);
  // Replicas in the order of the chain, and the next owner. The new ones get the state.
  Deliveries set_copies(const Owner& owner, double now);
  bool has_copies() const { return !copies_.empty(); }
  bool has_replicas() const { return std::ranges::any_of(copies_, &Copy::is_replica); }
  // What is decided now belongs to this entry, if there are copies. append() ends it: it is to be sent to
  // every replica, or to the first one of a chain.
  LogEntry& next() { return next_; }
  Deliveries append();
  // Where every push is logged: the entry ends with the push that has come in last, if it was not too late.
  Deliveries append_push(bool updates);
  // It ends with an update of these pushes, which leaves others waiting: as their sum, or, where copies have
  // the pushes, as word of it.
  Deliveries append_update(const std::vector<Push>& pushes, const std::vector<Push>& waiting,
                           const std::function<LogEntry::Sum()>& sum);
  // A copy has all entries below `entries`; none: not even the state before them. `is_new_replica`: it is a
  // replica that has got the state it began with.
  struct Confirmed {
    bool is_known = false;
    bool is_new_replica = false;
    Deliveries deliveries = {};
  };
  Confirmed confirm(NodeId from, std::optional<std::int64_t> entries, double now);
  void commit();
  // Whether an answer to this worker shows nothing that a crash may undo.
  bool is_safe(std::size_t worker) const;
  // Pushes of the worker that are on all replicas: its first ones, so many.
  std::int64_t committed(std::size_t worker) const { return workers_[worker].committed; }
  // Entries that are on all replicas: the first ones, so many.
  std::int64_t safe_entries() const { return committed_; }
  // How many entries each replica has confirmed.
  std::vector<std::pair<NodeId, std::int64_t>> confirmed() const;
  // When something is to be sent again, and that.
  std::optional<double> next_resend() const;
  Deliveries resend(double now);

  // --- A copy's side

  // A copy of `primary`'s log, which passes entries on to `next`. `in_step`: it has the state that this log
  // began with; else it takes no entries before that is here.
  void follow(bool in_step, bool was_owner, NodeId primary, std::optional<NodeId> next);
  NodeId primary() const { return primary_; }
  bool in_step() const { return in_step_; }
  // Who is to get an entry from here.
  std::optional<NodeId> passes_on(const LogEntry& entry) const;
  // Entries whose turn it is.
  std::vector<SharedEntry> take(const SharedEntry& entry);
  // Whether it is this entry's turn; then it counts as taken.
  bool takes(const LogEntry& entry);
  // What a next owner, who has got so far, still lacks of a former owner's log; nothing: it needs the state.
  std::optional<std::vector<SharedEntry>> rest_after(Extent theirs) const;

 private:
  struct Copy {
    NodeId node;
    std::int64_t entries = 0;  // that it has
    bool here = false;         // it has the state that it began with
    double asked = 0;          // when it was last sent something that it has not confirmed
    double wait = 0;           // from then until it is sent that again
    bool is_replica = true;    // else only the next owner: no answer waits for it
    bool is_next = false;      // the next owner: it is ready when it has ...
    std::int64_t backlog = 0;  // ... all that was in the log when its state was there
    double told = 0;           // when the scheduler was last told so
    bool is_ready() const { return is_next && here && entries >= backlog; }
    bool has(std::int64_t all) const { return here && entries == all; }
  };
  struct OfWorker {
    std::int64_t entry = 0;      // with its last push, one more than that
    std::int64_t committed = 0;  // pushes that the replicas have too
    std::int64_t begun = 0;      // that this server had when it became the owner
  };
  OfWorker& of(NodeId worker) { return workers_[worker - options_.first_worker]; }
  void tell_if_ready(Copy& copy, double now, Deliveries& out) const;
  void commit_through(std::int64_t entry);
  std::int64_t on_all_replicas() const;

  Options options_;
  std::uint32_t epoch_ = 0;
  std::int64_t entries_ = 0;                  // in the log, or, of a copy, taken from it
  std::map<std::int64_t, SharedEntry> log_;   // owner: not everywhere yet; copy: came too early
  std::map<std::int64_t, SharedEntry> past_;  // of a former owner, for the next one
  // Owner.
  std::vector<Copy> copies_;
  LogEntry next_;               // what has been decided since the last entry
  std::int64_t committed_ = 0;  // entries that are on all replicas
  std::int64_t update_ = 0;     // with the last update, one more than that
  std::vector<OfWorker> workers_;
  // Copy.
  bool in_step_ = false;
  NodeId primary_ = 0;
  std::optional<NodeId> next_in_chain_;
};

// How far a state goes that was sent.
inline ReplicatedLog::Extent extent_of(const State& state) { return {state.log_epoch, state.entries}; }

}  // namespace psim

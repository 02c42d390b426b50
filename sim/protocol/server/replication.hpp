// A server's part in the copies of one shard. The owner logs its decisions and sends them; a copy applies the
// owner's entries. This class has the log (replicated_log.hpp) and the server's role; the shard's state comes
// with each call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/protocol/server/outbox.hpp"
#include "sim/protocol/server/replicated_log.hpp"
#include "sim/protocol/server/shard_state.hpp"

namespace psim {

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

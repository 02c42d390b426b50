#include "sim/protocol/server/replication.hpp"

#include <memory>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

ReplicatedLog::Options log_of(const ReplicationSpec& replication, const RetrySpec& resend,
                              const ShardState::Options& shard) {
  return {.replication = replication,
          .resend = resend,
          .first_worker = shard.first_worker,
          .workers = static_cast<std::size_t>(shard.rule->workers),
          .shows_updates = shard.rule->drops_stale};
}

}  // namespace

Replication::Replication(const ReplicationSpec& replication, const RetrySpec& resend,
                         const ShardState::Options& shard, NodeId server)
    : log_(log_of(replication, resend, shard)), role_{.server = server, .shard = shard.shard} {}

Replication::Replication(const ReplicationSpec& replication, const RetrySpec& resend,
                         const ShardState::Options& shard, NodeId server, Extent extent)
    : log_(log_of(replication, resend, shard), extent),
      role_{.server = server, .shard = shard.shard, .epoch = extent.epoch, .leads = false} {}

Message Replication::message_to(NodeId node, Body body) const {
  return {
      .from = role_.server, .to = node, .shard = role_.shard, .epoch = role_.epoch, .body = std::move(body)};
}

// ---- The owner's side

bool Replication::lead(NodeId server, std::uint32_t epoch, const ShardState& state) {
  expects(epoch >= role_.epoch, "epochs of ownership only grow");
  role_.server = server;
  const bool is_new = !std::exchange(role_.leads, true) || epoch != role_.epoch;
  role_.epoch = epoch;
  if (!is_new) {
    log_.lead(epoch);
    return false;
  }
  std::vector<std::int64_t> pushes;
  for (std::uint32_t w = 0; w < state.workers.size(); ++w)
    pushes.push_back(state.before_pending(w, state.workers[w].arrived));
  log_.begin(epoch, std::move(pushes));
  return true;
}

void Replication::set_copies(const Owner& owner, const ShardState& state, double now, Outbox& out) {
  deliver(log_.set_copies(owner, now), state, out);
  log_.commit();
}

void Replication::log_push(const ShardState& state, Outbox& out) {
  if (log_.next().push) deliver(log_.append_push(false), state, out);
}

void Replication::log_members(const std::vector<bool>& members, const ShardState& state, Outbox& out) {
  LogEntry* entry = next_entry_of_push();
  if (entry == nullptr) return;
  entry->members = members;
  deliver(log_.append(), state, out);
}

void Replication::log_update(const std::vector<Push>& pushes, const ShardState& state,
                             const std::function<LogEntry::Sum()>& sum, Outbox& out) {
  deliver(log_.append_update(pushes, state.updates.pending(), sum), state, out);
}

bool Replication::confirm(NodeId from, std::optional<std::int64_t> entries, const ShardState& state,
                          double now, Outbox& out) {
  const ReplicatedLog::Confirmed confirmed = log_.confirm(from, entries, now);
  if (confirmed.is_new_replica) out.copied(from);
  deliver(confirmed.deliveries, state, out);
  return confirmed.is_known;
}

std::int64_t Replication::safe_pushes_of(std::uint32_t worker, const ShardState& state) const {
  const bool alone = !log_.has_replicas();
  if (!alone && log_.has_pushes()) return log_.committed(worker);
  // Only this server has the pending pushes, even if a later push was already dropped.
  return state.before_pending(worker, alone ? state.workers[worker].applied : log_.committed(worker));
}

void Replication::resend(const ShardState& state, double now, Outbox& out) {
  deliver(log_.resend(now), state, out);
}

void Replication::deliver(const ReplicatedLog::Deliveries& deliveries, const ShardState& state,
                          Outbox& out) const {
  for (const ReplicatedLog::Delivery& delivery : deliveries) {
    const Overloaded body_of{[&](ReplicatedLog::WholeState) -> Body { return whole_state(state); },
                             [](const auto& body) -> Body { return body; }};
    Message message = message_to(delivery.to, std::visit(body_of, delivery.what));
    if (delivery.again) out.send_again(std::move(message));
    else out.send(std::move(message));
  }
}

// ---- A copy's side

void Replication::follow(NodeId server, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next) {
  const bool in_step = role_.epoch == epoch && (log_.in_step() || role_.leads);
  log_.follow(in_step, role_.leads, primary, next);
  role_ = {.server = server, .shard = role_.shard, .epoch = epoch, .leads = false};
}

// A copy decides nothing. It takes entries in order, and takes none before the state that they change.
void Replication::take(const SharedEntry& entry, ShardState& state, Outbox& out) {
  if (role_.leads) return;
  if (const std::optional<NodeId> next = log_.passes_on(*entry)) {
    Message passed_on = message_to(*next, Replicate{entry});
    out.send(std::move(passed_on));
  }
  if (PSIM_PROBE(!log_.in_step(), "an entry comes before the state that it changes")) return;
  for (const SharedEntry& due : log_.take(entry)) state.apply(*due, log_.extent().epoch);
  out.send(message_to(log_.primary(), Replicated{log_.extent().entries}));
}

void Replication::take_log_suffix(const std::vector<SharedEntry>& entries, ShardState& state) {
  for (const SharedEntry& entry : entries) {
    if (log_.takes(*entry)) state.apply(*entry, log_.extent().epoch);
  }
}

// ---- A shard as a message

State Replication::whole_state(const ShardState& state) const {
  const auto copy = std::make_shared<ShardState>(state);
  if (!log_.has_pushes()) copy->forget_pending();
  const auto [epoch, entries] = log_.extent();
  return {.version = state.version,
          .log_epoch = epoch,
          .entries = entries,
          .shard = copy,
          .bytes = copy->bytes()};
}

State Replication::log_suffix_after(Extent theirs, const ShardState& state) const {
  const std::optional<std::vector<SharedEntry>> rest = log_.log_suffix_after(theirs);
  if (!rest) return whole_state(state);
  const auto [epoch, entries] = log_.extent();
  State result{.version = state.version, .log_epoch = epoch, .entries = entries};
  for (const SharedEntry& entry : *rest) result.bytes += wire_size(Replicate{entry});
  result.rest = std::make_shared<const std::vector<SharedEntry>>(*rest);
  return result;
}

}  // namespace psim

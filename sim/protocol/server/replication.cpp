#include "sim/protocol/server/replication.hpp"

#include <algorithm>
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

void ReplicatedLog::clear() {
  log_.clear();
  copies_.clear();
  next_ = {};
}

void ReplicatedLog::begin(std::uint32_t epoch, std::vector<std::int64_t> pushes) {
  lead(epoch);
  clear();
  update_ = 0;
  committed_ = entries_;
  workers_.clear();
  for (const std::int64_t begun : pushes) workers_.push_back({.begun = begun});
}

void ReplicatedLog::lead(std::uint32_t epoch) {
  in_step_ = false;
  epoch_ = epoch;
  past_.clear();
}

// A next owner that is not a replica comes last.
ReplicatedLog::Deliveries ReplicatedLog::set_copies(const Owner& owner, double now) {
  std::vector<NodeId> nodes = owner.replicas;
  const bool apart = owner.next != 0 && std::ranges::find(nodes, owner.next) == nodes.end();
  if (PSIM_PROBE(apart, "the next owner is not a replica")) nodes.push_back(owner.next);
  std::vector<Follower> before = std::exchange(copies_, {});
  // Decisions without copies are in no log. A returning replica must not seem to have them.
  if (PSIM_PROBE(!before.empty() && nodes.empty(), "an owner loses its last copy"))
    ++entries_, next_.shown.clear();
  Deliveries out;
  for (const NodeId node : nodes) {
    const auto old = std::ranges::find(before, node, &Follower::node);
    if (old != before.end()) {
      copies_.push_back(*old);
    } else {
      copies_.push_back({.node = node, .entries = entries_, .asked = now, .wait = options_.resend.timeout});
      out.push_back({.to = node, .what = WholeState{}});
    }
    Follower& copy = copies_.back();
    copy.is_replica = !apart || node != owner.next;
    copy.is_next = node == owner.next;
    if (!copy.is_next) copy.told = 0;
    if (old != before.end()) tell_if_ready(copy, now, out);
  }
  return out;
}

void ReplicatedLog::tell_if_ready(Follower& copy, double now, Deliveries& out) const {
  if (!copy.is_ready() || (copy.told > 0 && copy.told + options_.resend.timeout > now)) return;
  PSIM_PROBE(copy.told > 0, "the scheduler hears again that a next owner is ready");
  copy.told = now;
  out.push_back({.to = scheduler_node, .what = Ready{copy.node}, .again = true});
}

// The entry includes all decisions since the last entry. A replica decides nothing, so it reaches the owner's
// state even if the owner learned facts in other ways. A replica that still waits for its first state
// receives this entry after that state.
ReplicatedLog::Deliveries ReplicatedLog::append() {
  LogEntry decided = std::exchange(next_, {});
  decided.number = entries_++;
  for (const PushId& id : decided.pushes) of(id.worker).entry = entries_;
  for (const PushId& id : decided.dropped) of(id.worker).entry = entries_;
  const auto entry = std::make_shared<const LogEntry>(std::move(decided));
  const bool chained = options_.replication.layout == ReplicationLayout::chain;
  Deliveries out;
  for (const Follower& copy : copies_) {
    const bool is_passed_on = chained && copy.is_replica && copy.node != copies_.front().node;
    PSIM_PROBE(!copy.has_state, "an entry is made while a copy waits for its first state");
    if (copy.has_state && !is_passed_on) out.push_back({.to = copy.node, .what = Replicate{entry}});
  }
  log_.emplace(entry->number, entry);
  if (!has_replicas()) commit();
  return out;
}

ReplicatedLog::Deliveries ReplicatedLog::append_push(bool updates) {
  next_.updates = updates;
  if (next_.push) next_.pushes.push_back(next_.push->id());
  Deliveries out = append();
  if (updates) update_ = entries_;
  return out;
}

// The last push may be in this update, remain pending, or be dropped. It is logged in any case: a replica
// counts arrived pushes as its owner does.
ReplicatedLog::Deliveries ReplicatedLog::append_update(const std::vector<Push>& pushes,
                                                       const std::vector<Push>& waiting,
                                                       const std::function<LogEntry::Sum()>& sum) {
  if (has_pushes()) {
    for (const Push& push : waiting) next_.left.push_back(push.id());
    return append_push(true);
  }
  for (const Push& push : pushes) next_.pushes.push_back(push.id());
  next_.sum = sum();
  Deliveries out = append();
  update_ = entries_;
  return out;
}

ReplicatedLog::Confirmed ReplicatedLog::confirm(NodeId from, std::optional<std::int64_t> entries,
                                                double now) {
  const auto copy = std::ranges::find(copies_, from, &Follower::node);
  if (PSIM_PROBE(copy == copies_.end(), "a former copy confirms entries")) return {};
  // The copy had lost its place meanwhile, and has not yet received the entries that it missed.
  if (!copy->has_state && entries && *entries < copy->entries) return {};
  copy->asked = now;
  // Only an entry that was sent once shows that a short wait is enough. The confirmation of a repeated entry
  // may answer its first sending: then the round trip takes longer than the wait, and repetitions would fill
  // the connection for good.
  const std::int64_t once = copy->resent;
  PSIM_PROBE(entries > copy->entries && entries <= once, "a repeated entry is confirmed");
  if (entries.value_or(-1) > std::max(copy->entries, once) || !copy->has_state)
    copy->wait = options_.resend.timeout;
  // A copy that was down has nothing, so answers do not wait for it any more.
  if (PSIM_PROBE(!entries, "a copy has lost its state")) {
    copy->is_full = false;
    if (std::exchange(copy->has_state, false)) copy->entries = entries_;
    return {.is_known = true, .deliveries = {{.to = from, .what = WholeState{}, .again = true}}};
  }
  Confirmed result{.is_known = true};
  copy->entries = std::max(copy->entries, *entries);
  if (!std::exchange(copy->has_state, true)) {
    copy->backlog = entries_;
    for (auto entry = log_.lower_bound(copy->entries); entry != log_.end(); ++entry)
      result.deliveries.push_back({.to = from, .what = Replicate{entry->second}});
  }
  if (copy->is_replica && copy->entries >= committed_)
    result.is_new_replica = !std::exchange(copy->is_full, true);
  tell_if_ready(*copy, now, result.deliveries);
  commit();
  return result;
}

std::vector<std::pair<NodeId, std::int64_t>> ReplicatedLog::confirmed() const {
  std::vector<std::pair<NodeId, std::int64_t>> result;
  for (const Follower& copy : copies_) {
    if (copy.has_state && copy.is_replica) result.emplace_back(copy.node, copy.entries);
  }
  return result;
}

std::int64_t ReplicatedLog::replicated_index() const {
  std::int64_t least = entries_;
  for (const Follower& copy : copies_) {
    if (copy.has_state && copy.is_replica) least = std::min(least, copy.entries);
  }
  return least;
}

// A push is confirmed as safe only when all replicas have it, even though answers do not wait for a replica
// without its first state. All replicas are necessary, because that number of owners may fail one after the
// other.
void ReplicatedLog::commit() {
  const auto is_no_newcomer = [](const Follower& copy) { return copy.has_state || !copy.is_replica; };
  if (std::ranges::all_of(copies_, is_no_newcomer)) commit_through(replicated_index());
  else PSIM_PROBE(true, "a replica without its first state keeps pushes unsafe");
}

// All replicas have the entries below `entry`. If a node has become a replica since, more entries may be safe
// already.
void ReplicatedLog::commit_through(std::int64_t entry) {
  expects(entry <= entries_, "no entry is safe before it is made");
  for (OfWorker& worker : workers_) worker.committed = std::max(worker.committed, worker.begun);
  std::int64_t kept = entry;
  for (const Follower& copy : copies_) kept = std::min(kept, copy.entries);
  for (auto next = log_.lower_bound(committed_); next != log_.end() && next->first < entry; ++next) {
    for (const std::vector<PushId>* list : {&next->second->dropped, &next->second->pushes}) {
      for (const PushId& id : *list)
        of(id.worker).committed = std::max(of(id.worker).committed, id.number + 1);
    }
  }
  committed_ = std::max(committed_, entry);
  log_.erase(log_.begin(), log_.lower_bound(kept));
}

// A push computed on a version that a crash undoes would come too late.
bool ReplicatedLog::is_safe(std::size_t worker) const {
  if (!has_replicas()) return true;
  const std::int64_t own = of_index(worker).entry;
  const std::int64_t shown = options_.shows_updates ? std::max(own, update_) : own;
  const std::int64_t window = options_.replication.window, lacks = shown - replicated_index();
  PSIM_PROBE(window > 0 && lacks > window, "a replica is behind by more than the window");
  PSIM_PROBE(lacks > 0 && lacks <= window, "an answer shows what a replica lacks, within the window");
  return lacks <= window;
}

std::optional<double> ReplicatedLog::next_resend() const {
  std::optional<double> first;
  for (const Follower& copy : copies_) {
    const double again = copy.asked + copy.wait, tell = copy.told + options_.resend.timeout;
    if (!copy.has(entries_)) first = std::min(first.value_or(again), again);
    if (copy.is_ready()) first = std::min(first.value_or(tell), tell);
  }
  return first;
}

ReplicatedLog::Deliveries ReplicatedLog::resend(double now) {
  Deliveries out;
  for (Follower& copy : copies_) {
    tell_if_ready(copy, now, out);
    if (copy.has(entries_) || copy.asked + copy.wait > now) continue;
    copy.asked = now;
    // A connection that is slow because of too much data must not get more of it.
    copy.wait = std::min(copy.wait * options_.resend.backoff, options_.resend.longest);
    if (PSIM_PROBE(!copy.has_state, "a copy gets its first state again")) {
      out.push_back({.to = copy.node, .what = WholeState{}, .again = true});
      continue;
    }
    PSIM_PROBE(copy.wait == options_.resend.longest, "a copy is silent for the longest wait");
    copy.resent = entries_;
    for (auto entry = log_.lower_bound(copy.entries); entry != log_.end(); ++entry)
      out.push_back({.to = copy.node, .what = Replicate{entry->second}, .again = true});
  }
  return out;
}

void ReplicatedLog::follow(bool in_step, bool was_owner, NodeId primary, std::optional<NodeId> next) {
  in_step_ = in_step;
  if (PSIM_PROBE(was_owner, "an owner becomes a copy")) past_ = std::move(log_);
  primary_ = primary;
  next_in_chain_ = next;
  clear();
}

std::optional<NodeId> ReplicatedLog::passes_on(const LogEntry& entry) const {
  return entry.number >= entries_ || !in_step_ ? next_in_chain_ : std::nullopt;
}

std::vector<SharedEntry> ReplicatedLog::take(const SharedEntry& entry) {
  std::vector<SharedEntry> due;
  PSIM_PROBE(entry->number < entries_, "a replica gets an entry twice");
  PSIM_PROBE(entry->number > entries_, "an entry overtakes an earlier entry");
  if (entry->number >= entries_) log_.insert_or_assign(entry->number, entry);
  for (auto first = log_.begin(); first != log_.end() && takes(*first->second); first = log_.begin()) {
    due.push_back(std::move(first->second));
    log_.erase(first);
  }
  return due;
}

bool ReplicatedLog::takes(const LogEntry& entry) {
  if (entry.number != entries_) return false;
  ++entries_;
  return true;
}

std::optional<std::vector<SharedEntry>> ReplicatedLog::log_suffix_after(Extent theirs) const {
  const auto first = past_.lower_bound(theirs.entries);
  const bool kept = std::distance(first, past_.end()) == entries_ - theirs.entries;
  if (PSIM_PROBE(theirs.epoch != epoch_ || theirs.entries < 0 || !kept, "a next owner needs the whole shard"))
    return std::nullopt;
  std::vector<SharedEntry> rest;
  for (auto entry = first; entry != past_.end(); ++entry) rest.push_back(entry->second);
  PSIM_PROBE(!rest.empty(), "a next owner needs the end of the log only");
  return rest;
}

}  // namespace psim

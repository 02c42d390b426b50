// How a shard's replicas come to have what its owner has: a state to begin with, then a log of what the owner
// decides.
#include <algorithm>
#include <utility>

#include "model/mutant.hpp"
#include "sim/protocol/server.hpp"

namespace psim {
namespace {

// A replica answers nobody.
class Silence final : public Outbox {
 public:
  void send(Message) override {}
  void announce(Message) override {}
  void applied(const Message&, std::int64_t) override {}
  void dropped(const Message&) override {}
  void duplicate(const Message&) override {}
  void updated(std::int64_t) override {}
};

// That any of these pushes has, rising; null: all.
SharedKeys touched_keys(const std::vector<Message>& group) {
  if (std::ranges::any_of(group, [](const Message& push) { return push.keys == nullptr; })) return {};
  std::vector<std::uint32_t> keys;
  for (const Message& push : group) keys.insert(keys.end(), push.keys->begin(), push.keys->end());
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(keys));
}

}  // namespace

// In the order of the chain; the next owner, if it is none of the replicas, comes last.
void Server::take_copies(const Owner& owner, double now, Outbox& out) {
  std::vector<NodeId> nodes = owner.replicas;
  const bool apart = owner.next != 0 && std::ranges::find(nodes, owner.next) == nodes.end();
  if (apart) nodes.push_back(owner.next);
  std::vector<Copy> before = std::exchange(copies_, {});
  // What is decided alone is in no log. A replica that comes again must not seem to have it.
  if (!before.empty() && nodes.empty()) ++entries_, shown_.clear();
  for (const NodeId node : nodes) {
    const auto old = std::ranges::find(before, node, &Copy::node);
    if (old != before.end()) {
      copies_.push_back(*old);
    } else {
      copies_.push_back({.node = node, .entries = entries_, .asked = now, .wait = options_.resend.timeout});
      out.send(state_for(node));
    }
    Copy& copy = copies_.back();
    copy.is_replica = !apart || node != owner.next;
    copy.is_next = node == owner.next;
    if (!copy.is_next) copy.told = 0;
    if (old != before.end()) tell_if_ready(copy, now, out);
  }
}

void Server::tell_if_ready(Copy& copy, double now, Outbox& out) const {
  if (!copy.is_ready() || (copy.told > 0 && copy.told + options_.resend.timeout > now)) return;
  copy.told = now;
  out.send_again({.kind = MessageKind::ready,
                  .from = options_.id,
                  .to = scheduler_node,
                  .shard = options_.shard,
                  .number = copy.node,
                  .epoch = epoch_});
}

// To every replica, or to the first one of a chain; with all that was decided since the last entry. A replica
// decides nothing: whatever comes to its owner by other ways, it has the same. One that has not got the state
// yet that it is to begin with gets this after it.
void Server::log(Message entry, Attachment ids, Outbox& out) {
  ids.late = std::exchange(dropped_, {});
  ids.skipped = std::exchange(skipped_, {});
  ids.shown = std::exchange(shown_, {});
  for (const Attachment::Shown& shown : ids.shown)
    entry.payload += shown.filtered.count * bytes_per_value(options_.storage.precision);
  ids.ahead = std::exchange(ahead_, {});
  entry.kind = MessageKind::replicate;
  entry.from = options_.id;
  entry.shard = options_.shard;
  entry.number = entries_++;
  entry.epoch = epoch_;
  for (const PushId& id : ids.group) safety_[index_of(id.worker)].entry = entries_;
  for (const PushId& id : ids.late) safety_[index_of(id.worker)].entry = entries_;
  entry.attached = std::make_shared<const Attachment>(std::move(ids));
  const bool chained = options_.replication.layout == ReplicationLayout::chain;
  for (const Copy& copy : copies_) {
    const bool is_passed_on =
        chained && copy.is_replica &&
        copy.node != (mutant("chain-begins-at-its-end") ? copies_.back() : copies_.front()).node;
    if (copy.here && !is_passed_on) out.send(entry_for(copy.node, entry));
  }
  log_.emplace(entry.number, std::move(entry));
  if (!has_replicas()) commit();
}

Message Server::entry_for(NodeId replica, const Message& entry) const {
  Message message = entry;
  if (!mutant("primary-sends-for-the-chain")) message.from = options_.id;
  message.to = replica;
  return message;
}

// The push that has come in last, if it did not come too late.
void Server::log_push(bool updates, Outbox& out) {
  Attachment ids{.updates = updates};
  if (unlogged_) ids.group.push_back(id_of(*unlogged_));
  Message entry = std::exchange(unlogged_, std::nullopt).value_or(Message{});
  log(std::move(entry), std::move(ids), out);
  if (updates) update_entry_ = entries_;
}

// One update as its weighted sum: a replica that applies it does what this server does, to the last bit.
// Where it has all the pushes, it needs no more than word. `gradients` becomes that sum, which of sparse ones
// has the keys that are returned.
SharedKeys Server::log_update(const std::vector<Message>& group, std::vector<WeightedGradient>& gradients,
                              Outbox& out) {
  if (copies_pushes()) {
    // The last push may be one of those that this update leaves behind; then it is logged as such only.
    if (unlogged_ && std::ranges::find(group, id_of(*unlogged_), id_of) == group.end()) unlogged_.reset();
    log_push(true, out);
    return {};
  }
  Attachment ids;
  for (const Message& push : group) ids.group.push_back(id_of(push));
  const SharedKeys keys = touched_keys(group);
  Slice sum{nullptr, 0, keys ? keys->size() : count_};
  if (parameters_) {
    Values whole = weighted_sum(gradients, parameters_.weights()->precision(), count_);
    sum.values = std::make_shared<Values>(keys ? gather(whole, *keys) : std::move(whole));
    gradients.assign(1, {sum, 1.0, keys.get()});
  }
  // The sum of compensated gradients does not tell what their squares are.
  const bool adapts = options_.delay_compensation_decay > 0;
  if (adapts && parameters_) ids.mean_square = std::make_shared<const Values>(mean_square_);
  const std::size_t value = bytes_per_value(arithmetic_of(options_.storage.precision));
  const std::size_t width = value + (keys ? options_.bytes_per_key : 0) + (adapts ? value : 0);
  log({.clock = group.front().clock,
       .version = version_ + 1,
       .values = sum,
       .keys = keys,
       .payload = sum.count * width},
      std::move(ids), out);
  update_entry_ = entries_;
  return keys;
}

// Replica: entries are taken in their order, and none before the state that they change.
void Server::on_entry(const Message& entry, Outbox& out) {
  if (leads_) return;
  if (next_ && (entry.number >= entries_ || !in_step_)) out.send(entry_for(*next_, entry));
  if (!in_step_) return;
  const bool unseen = mutant("confirmed-unseen") && entry.number >= 30;
  if (entry.number >= entries_ && !unseen) log_.insert_or_assign(entry.number, entry);
  for (auto first = log_.begin(); first != log_.end() && first->first == entries_; first = log_.begin()) {
    const Message next = std::move(first->second);
    log_.erase(first);
    ++entries_;
    take_entry(next);
  }
  out.send({.kind = MessageKind::replicated,
            .from = options_.id,
            .to = primary_,
            .shard = options_.shard,
            .number = unseen ? entry.number + 1 : entries_,
            .epoch = epoch_});
}

// What the primary has decided; see Attachment.
void Server::take_entry(const Message& entry) {
  const Attachment& ids = *entry.attached;
  for (const Attachment::Shown& shown : ids.shown)
    was_sent(shown.worker, shown.filtered.values ? shown.filtered : snapshot());
  if (ids.mean_square) mean_square_ = Values(*ids.mean_square);
  for (const PushId& id : ids.skipped) skip_to(id.number, index_of(id.worker));
  for (const PushId& id : ids.ahead) {
    WorkerState& worker = workers_[index_of(id.worker)];
    worker.ahead = std::max(worker.ahead, id.number);
    worker.behind = false;
  }
  take_ids(ids.late);
  if (copies_pushes()) {
    if (!ids.members.empty()) count_members(ids.members);
    if (!ids.group.empty()) take_push(entry);
    Silence silence;
    if (ids.updates) update(take_pending(), silence);
  } else {
    take_ids(ids.group);
    const bool skipped = mutant("entry-skipped") && entry.number % 5 == 3;
    const double rate = this->rate() * options_.rule.rate_factor(ids.group.size());
    if (parameters_ && !skipped) apply({{entry.values, 1.0, entry.keys.get()}}, rate, entry.clock);
    if (parameters_ && mutant("replica-diverges")) parameters_.spoil();
    applied_ += static_cast<std::int64_t>(ids.group.size());
    ++version_;
    if (coordinated()) last_group_ = ids.group;
  }
  if (ids.updates || !copies_pushes()) updated_in_ = entry.epoch;
  find_slowest();
}

void Server::take_push(const Message& entry) {
  Message push = entry;
  push.kind = MessageKind::push;
  push.from = entry.attached->group.front().worker;
  push.number = entry.attached->group.front().number;
  push.attached = nullptr;
  const std::uint32_t w = index_of(push.from);
  workers_[w].arrived = std::max(workers_[w].arrived, push.number + 1);
  range_splits_ += clocks_.set(range_of(push), w, push.number + 1);
  ++arrived_;
  group_.push_back(std::move(push));
}

// Applied, or dropped.
void Server::take_ids(const std::vector<PushId>& ids) {
  for (const PushId& id : ids) {
    WorkerState& worker = workers_[index_of(id.worker)];
    worker.arrived = std::max(worker.arrived, id.number + 1);
    worker.applied = std::max(worker.applied, id.number + 1);
    std::erase_if(group_, [&](const Message& push) { return id_of(push) == id; });
  }
}

// Primary: a replica has all entries below ack.number.
void Server::on_replicated(const Message& ack, double now, Outbox& out) {
  const auto copy = std::ranges::find(copies_, ack.from, &Copy::node);
  if (copy == copies_.end()) return;
  // It had left its place meanwhile, and has not got yet what it missed.
  if (!copy->here && ack.number >= 0 && ack.number < copy->entries) return;
  copy->asked = now;
  if (ack.number > copy->entries || !copy->here) copy->wait = options_.resend.timeout;
  if (ack.number < 0) {  // it has nothing: it was down
    if (std::exchange(copy->here, false)) copy->entries = entries_;
    return out.send_again(state_for(copy->node));
  }
  copy->entries = std::max(copy->entries, ack.number);
  if (!std::exchange(copy->here, true)) {
    copy->backlog = mutant("ready-without-the-log") ? 0 : entries_;
    if (copy->is_replica) out.copied(ack.from);
    for (auto entry = log_.lower_bound(copy->entries); entry != log_.end(); ++entry)
      out.send(entry_for(ack.from, entry->second));
  }
  tell_if_ready(*copy, now, out);
  commit();
  answer_all(now, out);
}

std::int64_t Server::on_all_replicas() const {
  std::int64_t least = entries_;
  for (const Copy& copy : copies_) {
    if (copy.here && copy.is_replica) least = std::min(least, copy.entries);
  }
  return least;
}

// No worker is told that a push is safe which a replica still lacks, though answers do not wait for one that
// is to get the state first: with all of them, as many owners may fail, one after the other.
void Server::commit() {
  const auto has_state = [](const Copy& copy) { return copy.here || !copy.is_replica; };
  if (std::ranges::all_of(copies_, has_state)) commit_through(on_all_replicas());
}

// Entries below `entry` are everywhere.
void Server::commit_through(std::int64_t entry) {
  for (Safety& safety : safety_) safety.committed = std::max(safety.committed, safety.begun);
  std::int64_t kept = entry;
  for (const Copy& copy : copies_) kept = std::min(kept, copy.entries);
  for (auto next = log_.lower_bound(committed_); next != log_.end() && next->first < entry; ++next) {
    for (const std::vector<PushId>* list : {&next->second.attached->late, &next->second.attached->group}) {
      for (const PushId& id : *list) {
        std::int64_t& committed = safety_[index_of(id.worker)].committed;
        committed = std::max(committed, id.number + 1);
      }
    }
  }
  committed_ = entry;
  log_.erase(log_.begin(), log_.lower_bound(kept));
}

// An answer shows no update that a crash may undo, where a push to an undone version would come too late.
bool Server::is_safe(std::uint32_t worker) const {
  if (!has_replicas() || mutant("told-too-early")) return true;
  const std::int64_t own = safety_[worker].entry;
  const std::int64_t shown = options_.rule.fresh ? std::max(own, update_entry_) : own;
  return on_all_replicas() + options_.replication.window >= shown;
}

std::int64_t Server::committed_of(std::uint32_t worker) const {
  const bool alone = !has_replicas() || mutant("told-too-early");
  if (!alone && copies_pushes()) return safety_[worker].committed;
  return before_pending(worker, alone ? workers_[worker].applied : safety_[worker].committed);
}

// What waits for its group is only here, though a later push may have been dropped already.
std::int64_t Server::before_pending(std::uint32_t worker, std::int64_t pushes) const {
  for (const Message& push : group_) {
    if (index_of(push.from) == worker) pushes = std::min(pushes, push.number);
  }
  return pushes;
}

std::optional<double> Server::next_resend() const {
  std::optional<double> first;
  for (const Copy& copy : copies_) {
    const double again = copy.asked + copy.wait, tell = copy.told + options_.resend.timeout;
    if (!copy.has(entries_)) first = std::min(first.value_or(again), again);
    if (copy.is_ready()) first = std::min(first.value_or(tell), tell);
  }
  const double ask = asked_decision_ + options_.resend.timeout;
  if (lacks_decision()) first = std::min(first.value_or(ask), ask);
  return first;
}

void Server::resend(double now, Outbox& out) {
  ask_for_decision(now, out);
  for (Copy& copy : copies_) {
    tell_if_ready(copy, now, out);
    if (copy.has(entries_) || copy.asked + copy.wait > now) continue;
    copy.asked = now;
    // What is slow because there is too much to send must not get more of it.
    copy.wait = std::min(copy.wait * options_.resend.backoff, options_.resend.longest);
    if (!copy.here) {
      out.send_again(state_for(copy.node));
      continue;
    }
    for (auto entry = log_.lower_bound(copy.entries); entry != log_.end(); ++entry)
      out.send_again(entry_for(copy.node, entry->second));
  }
}

}  // namespace psim

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
  void announce(UpdateGroup) override {}
  void applied(const Push&, std::int64_t) override {}
  void dropped(const Push&) override {}
  void duplicate(const Push&) override {}
  void updated(std::int64_t) override {}
};

// That any of these pushes has, rising; null: all.
SharedKeys touched_keys(const std::vector<Push>& group) {
  if (std::ranges::any_of(group, [](const Push& push) { return !push.gradient.keys; })) return {};
  std::vector<std::uint32_t> keys;
  for (const Push& push : group)
    keys.insert(keys.end(), push.gradient.keys->begin(), push.gradient.keys->end());
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
  if (!before.empty() && nodes.empty()) ++entries_, next_entry_.shown.clear();
  for (const NodeId node : nodes) {
    const auto old = std::ranges::find(before, node, &Copy::node);
    if (old != before.end()) {
      copies_.push_back(*old);
    } else {
      copies_.push_back({.node = node, .entries = entries_, .asked = now, .wait = options_.resend.timeout});
      send(node, state(), out);
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
  out.send_again(to(scheduler_node, Ready{copy.node}));
}

// To every replica, or to the first one of a chain; with all that was decided since the last entry. A replica
// decides nothing: whatever comes to its owner by other ways, it has the same. One that has not got the state
// yet that it is to begin with gets this after it.
void Server::log(Outbox& out) {
  LogEntry decided = std::exchange(next_entry_, {});
  decided.number = entries_++;
  for (const PushId& id : decided.pushes) safety_[index_of(id.worker)].entry = entries_;
  for (const PushId& id : decided.dropped) safety_[index_of(id.worker)].entry = entries_;
  const auto entry = std::make_shared<const LogEntry>(std::move(decided));
  const bool chained = options_.replication.layout == ReplicationLayout::chain;
  for (const Copy& copy : copies_) {
    const bool is_passed_on =
        chained && copy.is_replica &&
        copy.node != (mutant("chain-begins-at-its-end") ? copies_.back() : copies_.front()).node;
    if (copy.here && !is_passed_on) send(copy.node, Replicate{entry}, out);
  }
  log_.emplace(entry->number, entry);
  if (!has_replicas()) commit();
}

// The push that has come in last, if it did not come too late.
void Server::log_push(bool updates, Outbox& out) {
  next_entry_.updates = updates;
  if (next_entry_.push) next_entry_.pushes.push_back(next_entry_.push->id());
  log(out);
  if (updates) update_entry_ = entries_;
}

// One update as its weighted sum: a replica that applies it does what this server does, to the last bit.
// Where it has all the pushes, it needs no more than word. `gradients` becomes that sum, which of sparse ones
// has the keys that are returned.
SharedKeys Server::log_update(const std::vector<Push>& group, std::vector<WeightedGradient>& gradients,
                              Outbox& out) {
  if (copies_pushes()) {
    // The last push may be one of those that this update leaves behind; then it is logged as such only.
    std::optional<Push>& push = next_entry_.push;
    if (push && std::ranges::find(group, push->id(), &Push::id) == group.end()) push.reset();
    log_push(true, out);
    return {};
  }
  for (const Push& push : group) next_entry_.pushes.push_back(push.id());
  const SharedKeys keys = touched_keys(group);
  Slice sum{nullptr, 0, keys ? keys->size() : count_};
  if (parameters_) {
    Values whole = weighted_sum(gradients, parameters_.weights()->precision(), count_);
    sum.values = std::make_shared<Values>(keys ? gather(whole, *keys) : std::move(whole));
    gradients.assign(1, {sum, 1.0, keys.get()});
  }
  const bool adapts = options_.delay_compensation_decay > 0;
  const std::size_t value = bytes_per_value(arithmetic_of(options_.storage.precision));
  const std::size_t width = value + (keys ? options_.bytes_per_key : 0) + (adapts ? value : 0);
  next_entry_.sum = {.clock = group.front().clock,
                     .version = version_ + 1,
                     .gradient = {.values = sum, .keys = keys, .bytes = sum.count * width}};
  // The sum of compensated gradients does not tell what their squares are.
  if (adapts && parameters_) next_entry_.sum->mean_square = std::make_shared<const Values>(mean_square_);
  log(out);
  update_entry_ = entries_;
  return keys;
}

// Replica: entries are taken in their order, and none before the state that they change.
void Server::on_entry(const SharedEntry& entry, Outbox& out) {
  if (leads_) return;
  if (next_ && (entry->number >= entries_ || !in_step_)) {
    Message passed_on = to(*next_, Replicate{entry});
    if (mutant("primary-sends-for-the-chain")) passed_on.from = primary_;
    out.send(std::move(passed_on));
  }
  if (!in_step_) return;
  const bool unseen = mutant("confirmed-unseen") && entry->number >= 30;
  if (entry->number >= entries_ && !unseen) log_.insert_or_assign(entry->number, entry);
  for (auto first = log_.begin(); first != log_.end() && first->first == entries_; first = log_.begin()) {
    const SharedEntry next = std::move(first->second);
    log_.erase(first);
    ++entries_;
    take_entry(*next);
  }
  send(primary_, Replicated{unseen ? entry->number + 1 : entries_}, out);
}

// What the primary has decided.
void Server::take_entry(const LogEntry& entry) {
  for (const LogEntry::Shown& shown : entry.shown)
    was_sent(shown.worker, shown.filtered.values.values ? shown.filtered.values : snapshot());
  if (entry.sum && entry.sum->mean_square) mean_square_ = Values(*entry.sum->mean_square);
  for (const PushId& id : entry.skipped) skip_to(id.number, index_of(id.worker));
  for (const PushId& id : entry.ahead) {
    WorkerState& worker = workers_[index_of(id.worker)];
    worker.ahead = std::max(worker.ahead, id.number);
    worker.behind = false;
  }
  take_ids(entry.dropped);
  if (!entry.members.empty()) count_members(entry.members);
  if (entry.push) take_push(*entry.push);
  Silence silence;
  if (entry.updates) update(take_pending(), silence);
  if (entry.sum) take_sum(entry);
  if (entry.updates || entry.sum) updated_in_ = log_epoch_;
  find_slowest();
}

void Server::take_sum(const LogEntry& entry) {
  take_ids(entry.pushes);
  const bool skipped = mutant("entry-skipped") && entry.number % 5 == 3;
  const double rate = this->rate() * options_.rule.rate_factor(entry.pushes.size());
  const Payload& gradient = entry.sum->gradient;
  if (parameters_ && !skipped) apply({{gradient.values, 1.0, gradient.keys.get()}}, rate, entry.sum->clock);
  if (parameters_ && mutant("replica-diverges")) parameters_.spoil();
  applied_ += static_cast<std::int64_t>(entry.pushes.size());
  ++version_;
  if (coordinated()) last_group_ = entry.pushes;
}

void Server::take_push(const Push& push) {
  const std::uint32_t w = index_of(push.worker);
  workers_[w].arrived = std::max(workers_[w].arrived, push.number + 1);
  range_splits_ += clocks_.set(range_of(push), w, push.number + 1);
  ++arrived_;
  group_.push_back(push);
}

// Applied, or dropped.
void Server::take_ids(const std::vector<PushId>& ids) {
  for (const PushId& id : ids) {
    WorkerState& worker = workers_[index_of(id.worker)];
    worker.arrived = std::max(worker.arrived, id.number + 1);
    worker.applied = std::max(worker.applied, id.number + 1);
    std::erase_if(group_, [&](const Push& push) { return push.id() == id; });
  }
}

// Primary: a replica has all entries below ack.number.
void Server::on_replicated(NodeId from, std::optional<std::int64_t> entries, double now, Outbox& out) {
  const auto copy = std::ranges::find(copies_, from, &Copy::node);
  if (copy == copies_.end()) return;
  // It had left its place meanwhile, and has not got yet what it missed.
  if (!copy->here && entries && *entries < copy->entries) return;
  copy->asked = now;
  if (entries.value_or(-1) > copy->entries || !copy->here) copy->wait = options_.resend.timeout;
  if (!entries) {  // it has nothing: it was down
    if (std::exchange(copy->here, false)) copy->entries = entries_;
    return out.send_again(to(from, state()));
  }
  copy->entries = std::max(copy->entries, *entries);
  if (!std::exchange(copy->here, true)) {
    copy->backlog = mutant("ready-without-the-log") ? 0 : entries_;
    if (copy->is_replica) out.copied(from);
    for (auto entry = log_.lower_bound(copy->entries); entry != log_.end(); ++entry)
      send(from, Replicate{entry->second}, out);
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
    for (const std::vector<PushId>* list : {&next->second->dropped, &next->second->pushes}) {
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
  for (const Push& push : group_) {
    if (index_of(push.worker) == worker) pushes = std::min(pushes, push.number);
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
      out.send_again(to(copy.node, state()));
      continue;
    }
    for (auto entry = log_.lower_bound(copy.entries); entry != log_.end(); ++entry)
      out.send_again(to(copy.node, Replicate{entry->second}));
  }
}

}  // namespace psim

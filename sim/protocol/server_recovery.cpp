// What a server does where nodes and messages may fail: requests that come twice or not at all, a log of
// updates for replicas, and a change of owner.
#include <algorithm>
#include <utility>

#include "sim/protocol/mutant.hpp"
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

}  // namespace

// Pushes of a worker are taken in its order, each once. One that comes too early waits for the one before it
// to be sent again.
bool Server::is_new(const Message& push, Outbox& out) {
  const std::uint32_t w = index_of(push.from);
  WorkerState& worker = workers_[w];
  if (worker.gone) return false;
  skip_lost(push, out);
  if (push.number > worker.arrived) return false;
  if (push.number < worker.arrived && options_.exactly_once && !mutant("applied-again")) {
    acknowledge(push, out);
    return false;
  }
  range_splits_ += clocks_.set(range_of(push), w, push.number + 1);
  return true;
}

// Where an update has one push of each worker: a shard that was set back may have one already, and the worker
// has computed that version again.
void Server::supersede(const Message& push, Outbox& out) {
  if (options_.rule.gate != Gate::version || coordinated()) return;
  const auto before = std::ranges::find(group_, push.from, &Message::from);
  if (before == group_.end()) return;
  const Message old = std::move(*before);
  group_.erase(before);
  drop(old, out);
}

void Server::acknowledge(const Message& push, Outbox& out) const {
  out.send({.kind = MessageKind::ack,
            .from = options_.id,
            .to = push.from,
            .shard = options_.shard,
            .number = push.number,
            .pushed = committed_of(index_of(push.from)),
            .epoch = epoch_});
}

void Server::accept(const Message& push, Outbox& out) {
  if (logs_pushes()) {
    Message entry = push;
    entry.attached = std::make_shared<const Attachment>(Attachment{.group = {id_of(push)}});
    log(std::move(entry), out);
  }
  acknowledge(push, out);
}

// Pushes of a worker before `number` will not come. Those that wait for their group are still to be applied.
void Server::skip_to(std::int64_t number, WorkerState& worker) {
  const std::int64_t skipped = std::max<std::int64_t>(0, number - worker.arrived);
  worker.arrived += skipped;
  worker.applied += skipped;
}

// Pushes before `request.kept` that are not here were lost with a former owner, and will not be sent again.
void Server::skip_lost(const Message& request, Outbox& out) {
  const std::uint32_t w = index_of(request.from);
  WorkerState& worker = workers_[w];
  if (request.kept <= worker.arrived) return;
  lost_ += request.kept - worker.arrived;
  skip_to(request.kept, worker);
  find_slowest();
  tell_count(w, out);
}

// What a pull tells about its worker: that it has come back, or that pushes are lost that only a former owner
// had. It then goes on from what is here.
void Server::meet(const Message& pull, Outbox& out) {
  WorkerState& worker = workers_[index_of(pull.from)];
  Pull& waiting = waiting_.at(index_of(pull.from));
  const bool pending = std::ranges::find(group_, pull.from, &Message::from) != group_.end();
  if (pull.pushed < 0) {  // back, and without memory: not before its push of this version is applied
    waiting.pushed = worker.arrived;
    if (options_.rule.fresh && pending) waiting.version = version_;
    return;
  }
  skip_lost(pull, out);
  // Nothing that this worker has sent, or can send again, will bring the version that it waits for.
  const bool all_here = pull.kept == pull.pushed && worker.arrived == pull.pushed;
  waiting.redo = pull.version > version_ || (pull.version == version_ && lost_ > 0 && all_here && !pending);
}

void Server::tell_count(std::uint32_t w, Outbox& out) const {
  const WorkerState& worker = workers_[w];
  out.counted(options_.first_worker + w, !worker.gone, worker.applied, worker.arrived);
}

void Server::lead(NodeId self, std::uint32_t epoch, const std::vector<NodeId>& replicas, double now,
                  Outbox& out) {
  options_.id = self;
  const bool is_new_leader = !leads_ || epoch != epoch_;
  leads_ = true;
  epoch_ = epoch;
  if (is_new_leader) {  // entries that came too early went with the former owner
    log_.clear();
    copies_.clear();
    waiting_.clear();
    committed_ = entries_;
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      safety_[w] = {.committed = workers_[w].arrived};
      tell_count(w, out);
    }
  }
  std::erase_if(copies_,
                [&](const Copy& copy) { return std::ranges::find(replicas, copy.node) == replicas.end(); });
  for (const NodeId node : replicas) {
    if (std::ranges::find(copies_, node, &Copy::node) != copies_.end()) continue;
    copies_.push_back({.node = node, .entries = entries_, .asked = now, .wait = options_.resend.timeout});
    out.send(state_for(node));
  }
  commit_through(on_all_replicas());
  answer_all(now, out);
}

void Server::follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next) {
  options_.id = self;
  leads_ = false;
  epoch_ = epoch;
  primary_ = primary;
  next_ = next;
  copies_.clear();
  log_.clear();
  waiting_.clear();
  if (copies_pushes()) return;
  for (WorkerState& worker : workers_) worker.arrived = worker.applied;  // it will hear of updates only
  group_.clear();
}

void Server::set_members(const std::vector<bool>& members, double now, Outbox& out) {
  bool changed = false;
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    WorkerState& worker = workers_[w];
    if (worker.gone != members[w]) continue;
    changed = true;
    worker.gone = !members[w];
    members_ += worker.gone ? -1 : 1;
    if (!worker.finished) active_ += worker.gone ? -1 : 1;
    if (worker.gone) {
      waiting_.erase(static_cast<std::uint32_t>(w));
    } else if (!options_.rule.fresh) {  // it goes on where the slowest of the others is
      skip_to(slowest_, worker);
    }
    tell_count(static_cast<std::uint32_t>(w), out);
  }
  if (!changed) return;
  find_slowest();
  if (logs_pushes())
    log({.attached = std::make_shared<const Attachment>(Attachment{.members = members})}, out);
  update_if_complete(out);
  answer_all(now, out);
}

// To every replica, or to the first one of a chain.
void Server::log(Message entry, Outbox& out) {
  entry.kind = MessageKind::replicate;
  entry.from = options_.id;
  entry.shard = options_.shard;
  entry.number = entries_++;
  entry.epoch = epoch_;
  for (const PushId& id : entry.attached->group) safety_[index_of(id.worker)].entry = entries_;
  for (const PushId& id : entry.attached->late) safety_[index_of(id.worker)].entry = entries_;
  for (const Copy& copy : copies_) {
    send_entry(copy.node, entry, out);
    if (options_.replication.layout == ReplicationLayout::chain) break;
  }
  log_.emplace(entry.number, std::move(entry));
}

void Server::send_entry(NodeId replica, const Message& entry, Outbox& out) const {
  Message message = entry;
  message.to = replica;
  out.send(std::move(message));
}

// One update as its weighted sum: a replica that applies it does what this server does, to the last bit.
void Server::log_update(const std::vector<Message>& group, std::vector<WeightedGradient>& gradients,
                        Outbox& out) {
  Attachment ids{.late = std::exchange(dropped_, {})};
  for (const Message& push : group) ids.group.push_back(id_of(push));
  Slice sum{nullptr, 0, count_};
  if (parameters_) {
    sum.values =
        std::make_shared<Values>(weighted_sum(gradients, parameters_.weights()->precision(), count_));
    gradients.assign(1, {sum, 1.0});
  }
  log({.clock = group.front().clock,
       .version = version_ + 1,
       .values = sum,
       .payload = count_ * bytes_per_value(arithmetic_of(options_.storage.precision)),
       .attached = std::make_shared<const Attachment>(std::move(ids))},
      out);
}

Message Server::state_for(NodeId node) const {
  const std::uint64_t bytes =
      count_ * bytes_per_value(options_.storage.precision) + parameters_.state_bytes() + workers_.size() * 8;
  return {.kind = MessageKind::state,
          .from = options_.id,
          .to = node,
          .shard = options_.shard,
          .version = version_,
          .number = entries_,
          .payload = bytes,
          .epoch = epoch_,
          .attached =
              std::make_shared<const Attachment>(Attachment{.state = std::make_shared<const Server>(*this)})};
}

// Replica: entries are taken in their order.
void Server::on_entry(const Message& entry, double now, Outbox& out) {
  if (leads_) return;
  if (next_ && entry.number >= entries_) send_entry(*next_, entry, out);
  const bool unseen = mutant("confirmed-unseen") && entry.number >= 30;
  if (entry.number >= entries_ && !unseen) log_.insert_or_assign(entry.number, entry);
  for (auto first = log_.begin(); first != log_.end() && first->first == entries_; first = log_.begin()) {
    const Message next = std::move(first->second);
    log_.erase(first);
    ++entries_;
    take_entry(next, now);
  }
  out.send({.kind = MessageKind::replicated,
            .from = options_.id,
            .to = primary_,
            .shard = options_.shard,
            .number = unseen ? entry.number + 1 : entries_,
            .epoch = epoch_});
}

void Server::take_entry(const Message& entry, double now) {
  const Attachment& ids = *entry.attached;
  Silence silence;
  if (!ids.members.empty()) return set_members(ids.members, now, silence);
  if (copies_pushes()) {
    Message push = entry;
    push.kind = MessageKind::push;
    push.from = ids.group.front().worker;
    push.number = ids.group.front().number;
    return on_push(push, now, silence);
  }
  for (const std::vector<PushId>* list : {&ids.late, &ids.group}) {
    for (const PushId& id : *list) {
      WorkerState& worker = workers_[index_of(id.worker)];
      worker.arrived = std::max(worker.arrived, id.number + 1);
      count_applied(id);
    }
  }
  const double rate = this->rate() * options_.rule.rate_factor(ids.group.size());
  const bool skipped = mutant("entry-skipped") && entry.number % 5 == 3;
  if (parameters_ && !skipped) apply({{entry.values, 1.0}}, rate, entry.clock);
  if (parameters_ && mutant("replica-diverges")) parameters_.spoil();
  applied_ += static_cast<std::int64_t>(ids.group.size());
  ++version_;
  updated_in_ = epoch_;
}

// Primary: a replica has all entries below ack.number.
void Server::on_replicated(const Message& ack, double now, Outbox& out) {
  const auto copy = std::ranges::find(copies_, ack.from, &Copy::node);
  if (copy == copies_.end()) return;
  copy->asked = now;
  if (ack.number > copy->entries || !copy->here) copy->wait = options_.resend.timeout;
  if (ack.number < 0) {  // it has nothing: it was down
    copy->here = false;
    copy->entries = entries_;
    return out.send(state_for(copy->node));
  }
  copy->entries = std::max(copy->entries, ack.number);
  if (!std::exchange(copy->here, true)) {  // what came before the state did was of no use to it
    out.copied(ack.from);
    for (auto entry = log_.lower_bound(copy->entries); entry != log_.end(); ++entry)
      send_entry(ack.from, entry->second, out);
  }
  commit_through(on_all_replicas());
  answer_all(now, out);
}

std::int64_t Server::on_all_replicas() const {
  std::int64_t least = entries_;
  for (const Copy& copy : copies_) {
    if (copy.here) least = std::min(least, copy.entries);
  }
  return least;
}

// Entries below `entry` are everywhere.
void Server::commit_through(std::int64_t entry) {
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

bool Server::is_safe(std::uint32_t worker) const {
  return copies_.empty() || mutant("told-too-early") ||
         on_all_replicas() + options_.replication.window >= safety_[worker].entry;
}

std::int64_t Server::committed_of(std::uint32_t worker) const {
  const bool alone = copies_.empty() || mutant("told-too-early");
  return alone ? workers_[worker].applied : safety_[worker].committed;
}

std::optional<double> Server::next_resend() const {
  std::optional<double> first;
  for (const Copy& copy : copies_) {
    if (copy.has(entries_)) continue;
    first = std::min(first.value_or(copy.asked + copy.wait), copy.asked + copy.wait);
  }
  return first;
}

void Server::resend(double now, Outbox& out) {
  for (Copy& copy : copies_) {
    if (copy.has(entries_) || copy.asked + copy.wait > now) continue;
    copy.asked = now;
    // What is slow because there is too much to send must not get more of it.
    copy.wait = std::min(copy.wait * options_.resend.backoff, options_.resend.longest);
    if (!copy.here) {
      copy.entries = entries_;
      out.send(state_for(copy.node));
    }
    for (auto entry = log_.lower_bound(copy.entries); entry != log_.end(); ++entry)
      send_entry(copy.node, entry->second, out);
  }
}

}  // namespace psim

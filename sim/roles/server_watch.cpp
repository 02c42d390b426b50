// A server where nodes fail: it owns shards and holds copies as the scheduler's view says, gets what it needs
// from other servers or from the storage, and writes snapshots.
#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <utility>

#include "sim/roles/scheduler.hpp"
#include "sim/roles/server_role.hpp"

namespace psim {

void ServerRole::run_watched() {
  std::vector<Message> early;  // others may have been told to start before
  const Message start = join(world_, node_, [&](Message message) { early.push_back(std::move(message)); });
  on_view(start.attached->view);
  for (Message& message : early) take(std::move(message));
  for (;;) {
    const std::optional<double> turn = next_turn();
    std::optional<Message> message =
        turn ? world_.network.receive_until(node_, *turn) : world_.network.receive(node_);
    if (!message) {
      for (auto& [shard, server] : shards_) server.resend(Agenda::now(), *this);
      for (const std::uint32_t shard : std::set(wanted_)) ask_for(shard);
      send_all();
    } else if (message->kind == MessageKind::view || message->kind == MessageKind::start) {
      message->attached ? on_view(message->attached->view) : tell_view(world_, node_, view_);
    } else if (message->kind == MessageKind::state) {
      on_state(*message);
    } else if (message->kind == MessageKind::restore) {
      hand_over(*message);
    } else {
      take(std::move(*message));
      take_snapshots();
    }
  }
}

std::optional<double> ServerRole::next_turn() const {
  std::optional<double> first;
  if (!wanted_.empty()) first = asked_ + world_.scenario.recovery.retry.value;
  for (const auto& [shard, server] : shards_) {
    if (const auto turn = server.next_resend()) first = std::min(first.value_or(*turn), *turn);
  }
  return first;
}

void ServerRole::on_view(const std::shared_ptr<const View>& view) {
  if (view->number <= this->view()) return;
  view_ = view;
  members_ = view->workers;
  for (std::uint32_t s = 0; s < view->owners.size(); ++s) take_place(s, view->owners[s]);
  send_all();
}

// Owner of the shard, holder of a copy, or neither.
void ServerRole::take_place(std::uint32_t shard, const Owner& owner) {
  current_ = shard;
  const auto here = shards_.find(shard);
  owners_.insert_or_assign(shard, owner);
  if (owner.primary == node_) {
    const bool was_alone =
        here != shards_.end() && here->second.leads() && here->second.epoch() != owner.epoch;
    if (here != shards_.end() && !was_alone) return lead(here->second, owner);
    if (was_alone) {
      discard_pending(here->second);
      shards_.erase(here);
    }
    wanted_.insert(shard);
    ask_for(shard);
    return;
  }
  wanted_.erase(shard);
  if (here == shards_.end()) {
    if (is_replica(owner)) confirm(shard, owner, -1);
    return;
  }
  discard_pending(here->second);
  if (owner.from == node_)
    return here->second.follow(node_, owner.epoch, owner.primary, {});  // to hand it over
  // What a former owner has is not to be trusted: it may have gone on alone.
  if (!is_replica(owner) || here->second.leads()) shards_.erase(here);
  else here->second.follow(node_, owner.epoch, owner.primary, next_in_chain(owner));
}

bool ServerRole::is_replica(const Owner& owner) const {
  return std::ranges::find(owner.replicas, node_) != owner.replicas.end();
}

std::optional<NodeId> ServerRole::next_in_chain(const Owner& owner) const {
  const auto copy = std::ranges::find(owner.replicas, node_);
  const bool is_last = copy == owner.replicas.end() || copy + 1 == owner.replicas.end();
  if (world_.scenario.replication.layout != ReplicationLayout::chain || is_last) return std::nullopt;
  return *(copy + 1);
}

void ServerRole::lead(Server& server, const Owner& owner) {
  if (!server.leads() || server.epoch() != owner.epoch)
    world_.recorder.record({.at = Agenda::now(),
                            .kind = EventKind::promote,
                            .node = node_,
                            .clock = owner.epoch,
                            .version = server.version(),
                            .bytes = hash_of(server),
                            .value = server.updated_in(),
                            .shard = current_});
  server.lead(node_, owner.epoch, owner.replicas, Agenda::now(), *this);
  server.set_members(members_, Agenda::now(), *this);
}

// The last owner has it, if it is still there; else the storage has the last snapshot; without one the shard
// begins anew.
void ServerRole::ask_for(std::uint32_t shard) {
  asked_ = Agenda::now();
  const Owner& owner = owners_.at(shard);
  if (owner.from == 0 && !world_.scenario.snapshot.every) {
    wanted_.erase(shard);
    current_ = shard;
    return lead(first_state(shard), owner);
  }
  world_.network.send({.kind = MessageKind::restore,
                       .from = node_,
                       .to = owner.from != 0 ? owner.from : world_.snapshot_node(),
                       .shard = shard,
                       .epoch = owner.epoch});
}

// A shard goes to its next owner.
void ServerRole::hand_over(const Message& request) {
  const auto owner = owners_.find(request.shard);
  if (owner == owners_.end() || owner->second.epoch != request.epoch) return;  // asked too early, or too late
  const auto here = shards_.find(request.shard);
  if (here != shards_.end()) return world_.network.send(here->second.state_for(request.from));
  world_.network.send({.kind = MessageKind::state,
                       .from = node_,
                       .to = request.from,
                       .shard = request.shard,
                       .epoch = request.epoch});
}

Server& ServerRole::first_state(std::uint32_t shard) {
  const Shard& part = world_.keys.shards[shard];
  return shards_.insert_or_assign(shard, Server(options_of(shard), world_.initial(shard), part.count))
      .first->second;
}

void ServerRole::on_state(const Message& message) {
  const std::uint32_t s = message.shard;
  const auto owner = owners_.find(s);
  current_ = s;
  if (owner != owners_.end() && owner->second.primary == node_) {  // from the storage, or the last owner
    if (!wanted_.contains(s)) return;
    if (!message.attached && message.from != world_.snapshot_node()) {  // the last owner never had it
      owner->second.from = 0;
      return ask_for(s);
    }
    wanted_.erase(s);
    if (message.attached) shards_.insert_or_assign(s, Server(*message.attached->state));
    else first_state(s);
    lead(shards_.at(s), owner->second);
    return send_all();
  }
  const bool is_mine =
      owner != owners_.end() && owner->second.epoch == message.epoch && is_replica(owner->second);
  if (!is_mine) return;
  const auto here = shards_.find(s);
  const std::int64_t entries = here == shards_.end() ? -1 : here->second.entries_in(message.epoch);
  if (entries >= message.number) return confirm(s, owner->second, entries);  // it came late
  Server& copy = shards_.insert_or_assign(s, Server(*message.attached->state)).first->second;
  copy.follow(node_, message.epoch, message.from, next_in_chain(owner->second));
  confirm(s, owner->second, message.number);
}

// Its owner does not know that this copy was lost, or what it heard of that was.
void ServerRole::lacks_state(const Message& entry) {
  const auto owner = owners_.find(entry.shard);
  if (owner != owners_.end() && owner->second.epoch == entry.epoch && is_replica(owner->second))
    confirm(entry.shard, owner->second, -1);
}

// Tells the owner of a shard how much of its log is here; -1: not even the state that it began with.
void ServerRole::confirm(std::uint32_t shard, const Owner& owner, std::int64_t entries) {
  world_.network.send({.kind = MessageKind::replicated,
                       .from = node_,
                       .to = owner.primary,
                       .shard = shard,
                       .number = entries,
                       .epoch = owner.epoch});
}

void ServerRole::take_snapshots() {
  const std::optional<Period>& every = world_.scenario.snapshot.every;
  if (!every) return;
  for (const auto& [shard, server] : shards_) {
    if (!server.leads()) continue;
    const std::int64_t turn = every->by_updates()
                                  ? server.version() / every->updates
                                  : static_cast<std::int64_t>(Agenda::now() / every->time.value);
    if (turn <= std::exchange(last_snapshot_[shard], turn)) continue;
    world_.network.send(server.state_for(world_.snapshot_node()));
  }
}

}  // namespace psim

// A server where nodes fail: it owns shards and holds copies as the scheduler's view says, gets what it needs
// from other servers or from the storage, and writes snapshots.
#include <simgrid/s4u/Actor.hpp>

#include <algorithm>
#include <functional>
#include <utility>

#include "model/mutant.hpp"
#include "sim/roles/scheduler.hpp"
#include "sim/roles/server_role.hpp"

namespace psim {

void ServerRole::run_watched() {
  // Others may have been told to start before.
  const Start start = join(world_, node_, [this](Message message) { keep(std::move(message)); });
  on_view(start.view);
  take_early();
  for (;;) {
    const std::optional<double> turn = next_turn();
    std::optional<Message> message =
        turn ? world_.network.receive_until(node_, *turn) : world_.network.receive(node_);
    if (!message) {
      cause_ = {.reason = Reason::date};
      const double now = std::max(Agenda::now(), *turn);  // the clock may stop a rounding error before it
      for (auto& [shard, server] : shards_) server.resend(now, *this);
      if (!wanted_.empty() && asked_ + asks_again_after_ <= now) ask_again();
      send_all();
      take_early();
    } else if (const NewView* news = message->as<NewView>()) {
      on_view(news->view);
      take_early();
    } else if (const Start* again = message->as<Start>()) {
      on_view(again->view);
      take_early();
    } else if (message->is<AskView>()) {
      tell_view(world_, node_, view_);
    } else if (is_early(*message)) {
      keep(std::move(*message));
    } else {
      const bool may_settle = message->is<State>();
      dispatch(std::move(*message));
      if (may_settle) take_early();
    }
    take_announced();
  }
}

void ServerRole::dispatch(Message message) {
  if (const State* state = message.as<State>()) return on_state(message, *state);
  if (const Restore* request = message.as<Restore>()) return hand_over(message, *request);
  take(std::move(message));
  take_snapshots();
}

// Its sender knows a newer view, or the shard is on its way to this server. Without these a change of owner
// would cost the time after which requests are repeated.
bool ServerRole::is_early(const Message& message) const {
  const auto owner = owners_.find(message.shard);
  if (owner == owners_.end() || message.epoch > owner->second.epoch) return message.epoch > 0;
  if (const State* state = message.as<State>()) return state->view > view();
  const bool is_request = message.is<Push>() || message.is<Pull>();
  return is_request && message.epoch == owner->second.epoch && wanted_.contains(message.shard);
}

// Of what is sent again the last is kept: a worker's one pull of a shard, and its pushes.
void ServerRole::keep(Message message) {
  const auto number = [](const Message& m) {
    return m.is<Pull>() ? std::nullopt : facts_of(m.body).number();
  };
  const auto before = std::ranges::find_if(early_, [&](const Message& other) {
    return other.body.index() == message.body.index() && other.from == message.from &&
           other.shard == message.shard && number(other) == number(message);
  });
  if (before == early_.end()) return early_.push_back(std::move(message));
  if (const Push* push = before->as<Push>()) {
    current_ = before->shard;
    duplicate(*push);
  }
  *before = std::move(message);
}

void ServerRole::take_early() {
  const auto is_due = [this](const Message& message) { return !is_early(message); };
  takes_early_ = true;
  for (auto due = early_.begin(); (due = std::ranges::find_if(early_, is_due)) != early_.end();) {
    Message message = std::move(*due);
    early_.erase(due);
    dispatch(std::move(message));
  }
  takes_early_ = false;
}

// What the first shard's owner has decided is for all other shards here, in whatever epoch they are.
void ServerRole::on_decision(const Message& group) {
  if (group.epoch != owners_.at(group.shard).epoch) return;
  Message own = group;
  for (auto& entry : shards_) {
    own.epoch = entry.second.epoch();
    if (entry.first != group.shard) act(entry, own);
  }
}

std::optional<double> ServerRole::next_turn() const {
  std::optional<double> first;
  if (!wanted_.empty()) first = asked_ + asks_again_after_;
  for (const auto& [shard, server] : shards_) {
    if (const auto turn = server.next_resend()) first = std::min(first.value_or(*turn), *turn);
  }
  return first;
}

void ServerRole::on_view(const std::shared_ptr<const View>& view) {
  if (view->number <= this->view()) return;
  view_ = view;
  members_ = view->workers;
  cause_ = {.reason = Reason::view, .view = view->number};
  for (std::uint32_t s = 0; s < view->owners.size(); ++s) take_place(s, view->owners[s]);
  send_all();
}

// Owner of the shard, holder of a copy, or neither.
void ServerRole::take_place(std::uint32_t shard, const Owner& owner) {
  current_ = shard;
  const auto here = shards_.find(shard);
  const auto before = owners_.find(shard);
  const bool is_new = before == owners_.end() || before->second.epoch != owner.epoch;
  owners_.insert_or_assign(shard, owner);
  if (owner.primary == node_) {
    if (here != shards_.end() && here->second.leads()) {
      if (here->second.epoch() == owner.epoch) return lead(here->second, owner);
      // It may have gone on alone, but may also be the only one that still has the shard: it is a copy now,
      // and what an owner in between has counts for more.
      discard_pending(here->second);
      if (mutant("only-copy-is-thrown-away")) shards_.erase(here);
      else here->second.follow(node_, owner.epoch, node_, {});
    }
    std::set<NodeId>& heard = wanted_[shard];
    if (is_new) heard.clear();
    return start_asking(shard);
  }
  wanted_.erase(shard);
  if (here == shards_.end()) {
    if (holds_copy(owner)) confirm(shard, owner, std::nullopt);
    return;
  }
  discard_pending(here->second);
  if (owner.was_primary(node_))
    return here->second.follow(node_, owner.epoch, owner.primary, {});  // to hand it over
  // What a former owner has is not to be trusted: it may have gone on alone.
  if (!holds_copy(owner) || here->second.leads()) shards_.erase(here);
  else here->second.follow(node_, owner.epoch, owner.primary, next_in_chain(owner));
}

bool ServerRole::has_left(const std::function<bool(std::uint32_t, const Owner&)>& has_got) const {
  const auto is_needed = [&](const auto& entry) {
    const auto& [shard, owner] = entry;
    return owner.primary == node_ || (owner.was_primary(node_) && !has_got(shard, owner));
  };
  return is_leaving_ && std::ranges::none_of(owners_, is_needed);
}

bool ServerRole::holds_copy(const Owner& owner) const {
  return owner.next == node_ || std::ranges::find(owner.replicas, node_) != owner.replicas.end();
}

std::optional<NodeId> ServerRole::next_in_chain(const Owner& owner) const {
  const auto copy = std::ranges::find(owner.replicas, node_);
  const bool is_last = copy == owner.replicas.end() || copy + 1 == owner.replicas.end();
  if (world_.scenario.replication.layout != ReplicationLayout::chain || is_last) return std::nullopt;
  return *(copy + 1);
}

void ServerRole::lead(ShardServer& server, const Owner& owner) {
  server.lead(node_, owner, Agenda::now(), *this);
  server.set_members(members_, Agenda::now(), *this);
}

void ServerRole::promoted() {
  const ShardServer& server = *find(current_);
  const auto [weights, state] = hashes_of(server);
  world_.record(node_, Promotion{.shard = world_.first_shard + current_,
                                 .epoch = server.epoch(),
                                 .version = server.version(),
                                 .updated_in = server.state().updated_in,
                                 .weights_hash = weights,
                                 .state_hash = state,
                                 .waiting_pushes = std::ssize(server.pending())});
}

// The last owner has all of it, if it is still there and got it itself. Else the owners before it and every
// replica are asked, one after the other, for what goes beyond what is here: a push that workers were told is
// safe is on some of them, but perhaps not on this one. Nobody confirms entries of the last epoch once it has
// answered.
std::optional<NodeId> ServerRole::next_peer(std::uint32_t shard) const {
  const Owner& owner = owners_.at(shard);
  const std::set<NodeId>& heard = wanted_.at(shard);
  for (const std::vector<NodeId>& peers : {std::cref(owner.from), std::cref(owner.replicas)}) {
    const auto next = std::ranges::find_if(peers, [&](const NodeId node) { return !heard.contains(node); });
    if (next != peers.end()) return *next;
  }
  return std::nullopt;
}

// Whether what is here is of the last owner's log. Else that one may have written snapshots since.
bool ServerRole::has_newest(std::uint32_t shard) const {
  const auto here = shards_.find(shard);
  return here != shards_.end() && here->second.extent().epoch + 1 == owners_.at(shard).epoch;
}

void ServerRole::start_asking(std::uint32_t shard) {
  asks_ = Backoff(world_.retry());
  asks_again_after_ = asks_.next();
  ask_for(shard);
}

void ServerRole::ask_again() {
  if (asks_.gives_up()) world_.watch->give_up(node_);
  asks_again_after_ = asks_.next();
  const auto wanted = wanted_;
  for (const auto& [shard, heard] : wanted) ask_for(shard);
}

// The storage has the last snapshot: for who has nothing, or has it from a server that was to hand the shard
// over to an owner that is gone. Without one the shard begins anew.
void ServerRole::ask_for(std::uint32_t shard) {
  asked_ = Agenda::now();
  const Owner& owner = owners_.at(shard);
  const std::optional<NodeId> peer = next_peer(shard);
  const auto here = shards_.find(shard);
  const bool is_enough = here != shards_.end() && (owner.from.empty() || has_newest(shard));
  if (!peer && (is_enough || !world_.scenario.snapshot.every)) return begin(shard);
  const ShardServer::Extent extent = here != shards_.end() ? here->second.extent() : ShardServer::Extent{};
  world_.network.send_once({.from = node_,
                            .to = peer.value_or(world_.snapshot_node()),
                            .shard = shard,
                            .epoch = owner.epoch,
                            .body = Restore{.log_epoch = extent.epoch, .entries = extent.entries}});
}

// Owns the shard, with what is here.
void ServerRole::begin(std::uint32_t shard) {
  wanted_.erase(shard);
  current_ = shard;
  const auto here = shards_.find(shard);
  lead(here != shards_.end() ? here->second : first_state(shard), owners_.at(shard));
  send_all();
}

// A shard goes to its next owner, or what that still lacks of it.
void ServerRole::hand_over(const Message& message, const Restore& request) {
  const std::uint32_t s = message.shard;
  const auto owner = owners_.find(s);
  if (owner == owners_.end() || owner->second.epoch != message.epoch) return;  // asked too late
  const auto here = shards_.find(s);
  const ShardServer::Extent theirs{request.log_epoch, request.entries};
  const ShardServer::Extent ours = here != shards_.end() ? here->second.extent() : ShardServer::Extent{};
  const bool has_more = here != shards_.end() && (theirs.entries < 0 || ours > theirs);
  State answer = has_more ? here->second.rest_after(theirs) : State{};
  answer.entries = ours.entries;
  world_.network.send_once(
      {.from = node_, .to = message.from, .shard = s, .epoch = message.epoch, .body = std::move(answer)});
}

// What the last owner or a replica has of a shard that is to be this server's.
void ServerRole::on_peer(const Message& message, const State& answer) {
  const std::uint32_t s = message.shard;
  const Owner& owner = owners_.at(s);
  if (message.epoch != owner.epoch) return;
  const auto here = shards_.find(s);
  if (answer.rest) {
    if (here != shards_.end()) here->second.take_rest(*answer.rest);
  } else if (answer.shard) {
    if (here == shards_.end() || extent_of(answer) > here->second.extent())
      received(s, answer).follow(node_, owner.epoch, node_, {});
  }
  wanted_.at(s).insert(message.from);
  if (owner.was_primary(message.from) && has_newest(s)) return begin(s);  // nobody has more
  start_asking(s);
}

ShardServer& ServerRole::received(std::uint32_t shard, const State& state) {
  return shards_.insert_or_assign(shard, ShardServer(options_of(shard), state)).first->second;
}

ShardServer& ServerRole::first_state(std::uint32_t shard) {
  const Shard& part = world_.keys.shards[shard];
  return shards_.insert_or_assign(shard, ShardServer(options_of(shard), world_.initial(shard), part.count))
      .first->second;
}

void ServerRole::on_state(const Message& message, const State& state) {
  const std::uint32_t s = message.shard;
  const auto owner = owners_.find(s);
  current_ = s;
  cause_ = cause_of(message);
  if (owner != owners_.end() && owner->second.primary == node_) {
    if (!wanted_.contains(s)) return;
    if (message.from != world_.snapshot_node()) return on_peer(message, state);
    const auto here = shards_.find(s);
    const bool is_newer = state.shard && (here == shards_.end() || extent_of(state) > here->second.extent());
    if (is_newer) received(s, state);
    return begin(s);
  }
  const bool is_mine =
      owner != owners_.end() && owner->second.epoch == message.epoch && holds_copy(owner->second);
  if (!is_mine) return;
  const auto here = shards_.find(s);
  const std::int64_t entries = here == shards_.end() ? -1 : here->second.entries_in(message.epoch);
  if (entries >= state.entries) return confirm(s, owner->second, entries);  // it came late
  received(s, state).follow(node_, message.epoch, message.from, next_in_chain(owner->second));
  confirm(s, owner->second, state.entries);
}

// Its owner does not know that this copy was lost, or what it heard of that was.
void ServerRole::lacks_state(const Message& entry) {
  const auto owner = owners_.find(entry.shard);
  if (owner != owners_.end() && owner->second.epoch == entry.epoch && holds_copy(owner->second))
    confirm(entry.shard, owner->second, std::nullopt);
}

// Tells the owner of a shard how much of its log is here; none: not even the state that it began with.
void ServerRole::confirm(std::uint32_t shard, const Owner& owner, std::optional<std::int64_t> entries) {
  world_.network.send({.from = node_,
                       .to = owner.primary,
                       .shard = shard,
                       .epoch = owner.epoch,
                       .body = Replicated{entries}});
}

void ServerRole::take_snapshots() {
  const std::optional<Period>& every = world_.scenario.snapshot.every;
  if (!every) return;
  for (const auto& [shard, server] : shards_) {
    const bool skipped = mutant("snapshots-of-the-first-shard") && shard != shards_.begin()->first;
    if (!server.leads() || (skipped && every->by_updates())) continue;
    const std::int64_t updates = server.version() - (mutant("snapshot-one-update-late") ? 1 : 0);
    const std::int64_t turn = every->by_updates()
                                  ? updates / every->updates
                                  : static_cast<std::int64_t>(Agenda::now() / every->time.value);
    if (turn <= std::exchange(last_snapshot_[shard], turn)) continue;
    world_.network.send({.from = node_,
                         .to = world_.snapshot_node(),
                         .shard = shard,
                         .epoch = server.epoch(),
                         .body = server.whole_state()});
  }
}

}  // namespace psim

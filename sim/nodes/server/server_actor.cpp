#include "sim/nodes/server/server_actor.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/job/requests.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

std::size_t values_to_apply(const Message& message) {
  if (const Push* push = message.as<Push>()) return push->gradient.values.count;
  if (const Call* call = message.as<Call>()) return call->values;
  const Replicate* replicate = message.as<Replicate>();
  if (replicate == nullptr) return 0;
  const LogEntry& entry = *replicate->entry;
  if (entry.push) return entry.push->gradient.values.count;
  return entry.sum ? entry.sum->gradient.values.count : 0;
}

}  // namespace

void ServerActor::run() {
  enter();
  for (;;) {
    const std::optional<double> turn = next_turn();
    std::optional<Message> message =
        turn ? job_.network.receive_until(node_, *turn) : job_.network.receive(node_);
    if (message) {
      // The message does not depend on the server's earlier work. Pushes and pulls report their causes one by
      // one.
      job_.recorder.causes().needs_nothing();
      if (!message->is<Push>() && !message->is<Pull>()) job_.recorder.causes().needs(message->because.event);
      on(std::move(*message));
      job_.recorder.causes().needs_nothing();
    } else {
      take_turn();
    }
    for (ServerActor* part : parts_) part->shards_.take_announced();
  }
}

// The next date on which this server acts by itself, in any job.
std::optional<double> ServerActor::next_turn() const {
  std::optional<double> first;
  const auto consider = [&first](const std::optional<double>& date) {
    if (date) first = std::min(first.value_or(*date), *date);
  };
  for (const ServerActor* part : parts_) {
    if (part->shards_.are_gone()) continue;
    consider(part->failover_.next_turn());
    consider(part->shards_.next_closing());
  }
  return first;
}

void ServerActor::take_turn() {
  const double now = Agenda::now();
  const auto is_due = [now](const std::optional<double>& date) { return date && *date <= now; };
  for (ServerActor* part : parts_) {
    if (part->shards_.are_gone()) continue;
    if (is_due(part->failover_.next_turn())) {
      part->failover_.repeat(now);
      part->take_early({.reason = Reason::date});
    }
    if (!is_due(part->shards_.next_closing())) continue;
    part->shards_.close_updates(now);
    part->shards_.take_announced();
    part->take_snapshots();
  }
}

// Where nothing fails, a server needs no answer: it handles messages of nodes that start earlier.
void ServerActor::enter() {
  if (!job_.plan.scenario.may_fail())
    return job_.network.send({.from = node_, .to = scheduler_node, .body = Join{}});
  on_view(join(job_, node_, [this](Message message) {
            ServerActor& part = localize(message);
            part.keep(std::move(message));
          }).view);
}

void ServerActor::on_view(const SharedView& view) {
  if (!view) return;
  hear(view);
  for (ServerActor* part : parts_) part->take_early({.reason = Reason::view, .view = view->number});
}

void ServerActor::hear(const SharedView& view) {
  for (ServerActor* part : parts_) {
    if (!part->shards_.are_gone()) part->failover_.on_view(view);
    else if (view->number > part->shards_.view()) part->shards_.set_view(view);
  }
}

void ServerActor::on(Message&& message) {
  if (const Start* start = message.as<Start>()) return on_view(start->view);
  if (const NewView* news = message.as<NewView>()) return on_view(news->view);
  if (message.is<Pull>() && job_.answers(message)) return;  // a repetition; a second answer would be useless
  ServerActor& part = localize(message);
  if (part.failover_.is_early(message)) return part.keep(std::move(message));
  const bool may_settle = message.is<State>();
  const Release cause = cause_of(message);
  part.dispatch(std::move(message));
  if (may_settle) part.take_early(cause);
}

void ServerActor::dispatch(Message&& message, const std::optional<Release>& because) {
  if (message.is<LeaveAck>()) return;  // its heartbeats still say that it leaves
  if (message.is<AskView>()) return tell_view(job_, node_, shards_.last_view());
  if (PSIM_PROBE(shards_.are_gone(), "a message reaches a server that has left")) {
    shards_.on(message);
    return;
  }
  if (const State* state = message.as<State>()) return failover_.on_state(message, *state);
  if (const Restore* request = message.as<Restore>()) return failover_.hand_over(message, *request);
  take(std::move(message), because);
  take_snapshots();
}

// The part that has the message's shard. Messages number shards over all jobs, a part numbers them from 0.
ServerActor& ServerActor::localize(Message& message) {
  const auto part = std::ranges::find_if(
      parts_, [&message](const ServerActor* one) { return one->job_.plan.has_shard(message.shard); });
  ServerActor& found = part == parts_.end() ? *this : **part;
  message.shard -= found.job_.plan.first_shard;
  return found;
}

void ServerActor::take(Message&& message, const std::optional<Release>& because) {
  const std::size_t values = values_to_apply(message);
  const double flops = job_.plan.scenario.cluster.server.flops_per_value * static_cast<double>(values);
  if (flops > 0) {
    in_hand_ = std::move(message);
    {
      const Serving serving(job_, node_, in_hand_->sent);
      compute(job_, node_, flops);
    }
    message = *std::exchange(in_hand_, std::nullopt);
  }
  if (!shards_.on(message, because) && message.is<Replicate>()) failover_.lacks_state(message);
  shards_.take_announced();
}

// Of repeated messages it keeps the last: one pull of each worker and shard, and each push once.
void ServerActor::keep(Message message) {
  const auto number = [](const Message& m) {
    return m.is<Pull>() ? std::nullopt : facts_of(m.body).number();
  };
  const auto before = std::ranges::find_if(early_, [&](const Message& other) {
    return other.body.index() == message.body.index() && other.from == message.from &&
           other.shard == message.shard && number(other) == number(message);
  });
  if (before == early_.end()) return early_.push_back(std::move(message));
  if (const Push* push = before->as<Push>()) shards_.drop_duplicate(before->shard, *push);
  *before = std::move(message);
}

// An early pull has waited for the view, the state or the message that now makes it due.
void ServerActor::take_early(Release cause) {
  const auto is_due = [this](const Message& message) { return !failover_.is_early(message); };
  for (auto due = early_.begin(); (due = std::ranges::find_if(early_, is_due)) != early_.end();) {
    Message message = std::move(*due);
    early_.erase(due);
    if (const NewView* news = message.as<NewView>()) {
      if (news->view->number > shards_.view()) cause = {.reason = Reason::view, .view = news->view->number};
      hear(news->view);
      continue;
    }
    const bool is_for_shard = message.is<Push>() || message.is<Call>() || message.is<Decide>() ||
                              message.is<Replicate>() || message.is<Replicated>();
    if (message.is<State>() || message.is<UpdateGroup>() || (is_for_shard && shards_.find(message.shard)))
      cause = cause_of(message);
    dispatch(std::move(message), cause);
  }
}

void ServerActor::take_snapshots() {
  const std::optional<Period>& every = job_.plan.scenario.snapshot.every;
  if (!every) return;
  for (const auto& [shard, server] : shards_.all()) {
    if (!server.leads()) continue;
    const std::int64_t updates = server.version();
    const std::int64_t turn = every->by_updates()
                                  ? updates / every->updates
                                  : static_cast<std::int64_t>(Agenda::now() / every->time.value);
    if (turn <= std::exchange(last_snapshot_[shard], turn)) continue;
    job_.network.send_once({.from = node_,
                            .to = job_.plan.snapshot_node(),
                            .shard = job_.plan.first_shard + shard,
                            .epoch = server.epoch(),
                            .body = server.whole_state()});
  }
}

void ServerActor::discard_rest() {
  shards_.discard_all();
  const auto discard_push = [this](const Message& message) {
    if (const Push* push = message.as<Push>()) shards_.discard(message.shard, *push);
  };
  PSIM_PROBE(!early_.empty(), "a server crashes with messages that came early");
  if (PSIM_PROBE(in_hand_, "a server crashes while it applies a message")) discard_push(*in_hand_);
  std::ranges::for_each(std::exchange(early_, {}), discard_push);
}

std::optional<double> ServerFailover::next_turn() const {
  if (shards_.owners().empty()) return std::nullopt;  // nothing fails, or nothing has begun
  std::optional<double> first;
  if (!wanted_.empty()) first = asked_ + asks_again_after_;
  for (const auto& [shard, server] : shards_.all()) {
    if (const auto turn = server.next_resend()) first = std::min(first.value_or(*turn), *turn);
  }
  return first;
}

void ServerFailover::repeat(double now) {
  const Release cause{.reason = Reason::date};
  for (auto& [shard, server] : shards_.all())
    shards_.act(server, cause, [&server = server, now](Outbox& out) { server.resend(now, out); });
  if (!wanted_.empty() && asked_ + asks_again_after_ <= now) ask_again(cause);
  shards_.send_all();
}

// The sender knows a newer view, or the shard is on its way to this server. Keeping such messages saves the
// time until their repetition.
bool ServerFailover::is_early(const Message& message) const {
  if (shards_.are_gone()) return false;
  const auto owner = shards_.owners().find(message.shard);
  if (owner == shards_.owners().end() || message.epoch > owner->second.epoch) {
    PSIM_PROBE(message.is<Push>(), "a push overtakes the view that it needs");
    PSIM_PROBE(message.is<Replicate>(), "an entry overtakes the view that it needs");
    return message.epoch > 0;
  }
  if (const State* state = message.as<State>())
    return PSIM_PROBE(state->view > shards_.view(), "a state overtakes the view that it needs");
  const bool is_request = message.is<Push>() || message.is<Pull>();
  return PSIM_PROBE(is_request && message.epoch == owner->second.epoch && wanted_.contains(message.shard),
                    "a request waits until the shard is here");
}

void ServerFailover::on_view(const SharedView& view) {
  if (view->number <= shards_.view()) return;
  shards_.set_view(view);
  const JobPlan& plan = job_.plan;
  members_ = plan.members_in(*view);
  const Release cause{.reason = Reason::view, .view = view->number};
  led_ = shards_.cut();
  for (std::uint32_t s = 0; s < shards_.keys().shards.size(); ++s)
    take_place(s, plan.owner_in(*view, s), cause);
  shards_.send_all();
}

// Takes this server's role: owner of the shard, holder of a copy, or neither.
void ServerFailover::take_place(std::uint32_t shard, const Owner& owner, const Release& cause) {
  ShardServer* const here = shards_.find(shard);
  const auto before = shards_.owners().find(shard);
  const bool is_new = before == shards_.owners().end() || before->second.epoch != owner.epoch;
  shards_.owners().insert_or_assign(shard, owner);
  if (owner.primary == node_) {
    if (here != nullptr && here->leads()) {
      if (!PSIM_PROBE(here->epoch() != owner.epoch, "an owner leads again after another epoch"))
        return lead(*here, owner, cause);
      // This server may have gone on alone, but it may also be the only one that still has the shard. So its
      // shard becomes a copy, and the state of an owner in between counts for more.
      shards_.discard_pending(*here);
      here->follow(node_, owner.epoch, node_, {});
    }
    // A cut begins an epoch, and no other server has led in between.
    if (led_.contains(shard) && has_newest(shard)) return begin(shard, cause);
    PSIM_PROBE(is_new && wanted_.contains(shard), "a server takes a shard over again before it has it");
    std::set<NodeId>& heard = wanted_[shard];
    if (is_new) heard.clear();
    if (is_new) copies_.erase(shard);
    return start_asking(shard, cause);
  }
  PSIM_PROBE(wanted_.erase(shard) > 0, "a takeover is called off");
  if (here == nullptr) {
    if (PSIM_PROBE(holds_copy(owner), "a copy has nothing yet")) confirm(shard, owner, std::nullopt);
    return;
  }
  shards_.discard_pending(*here);
  if (PSIM_PROBE(owner.was_primary(node_), "a former owner keeps the shard for the next one"))
    return here->follow(node_, owner.epoch, owner.primary, {});  // keeps it, to hand it over
  // A former owner's shard is not reliable: that owner may have gone on alone.
  if (!holds_copy(owner) || here->leads()) shards_.erase(shard);
  else here->follow(node_, owner.epoch, owner.primary, next_in_chain(owner));
}

bool ServerFailover::has_given_all(const std::function<bool(std::uint32_t, const Owner&)>& has_got) const {
  const auto is_needed = [&](const auto& entry) {
    const auto& [shard, owner] = entry;
    return owner.primary == node_ || (owner.was_primary(node_) && !has_got(shard, owner));
  };
  return std::ranges::none_of(shards_.owners(), is_needed);
}

bool ServerFailover::holds_copy(const Owner& owner) const {
  return owner.next == node_ || std::ranges::find(owner.replicas, node_) != owner.replicas.end();
}

std::optional<NodeId> ServerFailover::next_in_chain(const Owner& owner) const {
  const auto copy = std::ranges::find(owner.replicas, node_);
  const bool is_last = copy == owner.replicas.end() || copy + 1 == owner.replicas.end();
  if (job_.plan.scenario.replication.layout != ReplicationLayout::chain || is_last) return std::nullopt;
  return *(copy + 1);
}

void ServerFailover::lead(ShardServer& server, const Owner& owner, const Release& cause) {
  shards_.act(server, cause, [&](Outbox& out) {
    server.lead(node_, owner, Agenda::now(), out);
    // When the job has ended, no worker takes part. Pushes that wait for other pushes must not be applied.
    if (!shards_.have_ended()) server.set_members(members_, Agenda::now(), out);
  });
}

// The last owner has the whole state, if it is still there and got the state itself. Otherwise this server
// asks the owners before it and every replica, one after the other, for newer entries: if workers were told
// that a push is safe, some of these nodes have it, but perhaps not this server. A node that has answered no
// longer confirms entries of the last epoch.
std::optional<NodeId> ServerFailover::next_peer(std::uint32_t shard) const {
  const Owner& owner = shards_.owners().at(shard);
  const std::set<NodeId>& heard = wanted_.at(shard);
  for (const std::vector<NodeId>& peers : {std::cref(owner.from), std::cref(owner.replicas)}) {
    const auto next = std::ranges::find_if(peers, [&](const NodeId node) { return !heard.contains(node); });
    if (next != peers.end()) return *next;
  }
  if (!job_.plan.workers_sum() || (has_newest(shard) && job_.plan.scenario.replication.window == 0))
    return std::nullopt;
  for (std::uint32_t w = 0; w < members_.size(); ++w) {
    const NodeId node = job_.plan.first_worker() + w;
    if (members_[w] && !heard.contains(node)) return node;
  }
  return std::nullopt;
}

// Whether the state here belongs to the last owner's log. Otherwise the last owner may have written newer
// snapshots.
bool ServerFailover::has_newest(std::uint32_t shard) const {
  const ShardServer* here = shards_.find(shard);
  return here != nullptr && here->extent().epoch + 1 == shards_.owners().at(shard).epoch;
}

void ServerFailover::start_asking(std::uint32_t shard, const Release& cause) {
  asks_ = Backoff(job_.plan.retry());
  asks_again_after_ = asks_.next();
  ask_for(shard, cause);
}

void ServerFailover::ask_again(const Release& cause) {
  if (asks_.gives_up()) job_.run.give_up(node_);
  asks_again_after_ = asks_.next();
  PSIM_PROBE(true, "a server asks again for a shard");
  const auto wanted = wanted_;
  for (const auto& [shard, heard] : wanted) ask_for(shard, cause);
}

// The storage has the last snapshot. The server asks for it if it has no state, or if its state is from a
// server that was to hand the shard over to an owner that is gone. Without a snapshot the shard begins
// anew.
void ServerFailover::ask_for(std::uint32_t shard, const Release& cause) {
  asked_ = Agenda::now();
  const Owner& owner = shards_.owners().at(shard);
  const std::optional<NodeId> peer = next_peer(shard);
  ShardServer* const here = shards_.find(shard);
  const bool is_enough = here != nullptr && (owner.from.empty() || has_newest(shard));
  if (!peer && (is_enough || !job_.plan.scenario.snapshot.every)) return begin(shard, cause);
  PSIM_PROBE(!peer && here != nullptr, "a server with an old copy asks for the snapshot");
  PSIM_PROBE(!peer && here == nullptr, "a server without a copy asks for the snapshot");
  ShardServer::Extent extent = here != nullptr ? here->extent() : ShardServer::Extent{};
  if (PSIM_PROBE(peer && job_.plan.is_worker(*peer), "a server asks workers for their copies")) {
    const auto copy = copies_.find(shard);
    extent.entries =
        std::max(here != nullptr ? here->version() : -1, copy != copies_.end() ? copy->second.version : -1);
  }
  job_.network.send_once(
      {.from = node_,
       .to = peer.value_or(job_.plan.snapshot_node()),
       .shard = job_.plan.first_shard + shard,
       .epoch = owner.epoch,
       .body = Restore{
           .log_epoch = extent.epoch, .entries = extent.entries, .part = shards_.keys().shards[shard].part}});
}

// Becomes the shard's owner, with the state that is here.
void ServerFailover::begin(std::uint32_t shard, const Release& cause) {
  expects(shards_.owners().at(shard).primary == node_, "a server begins with the shards that it owns");
  wanted_.erase(shard);
  ShardServer* here = shards_.find(shard);
  if (const auto copy = copies_.extract(shard);
      copy && (here == nullptr || here->version() < copy.mapped().version)) {
    here = &shards_.first_state(shard);
    here->adopt(copy.mapped());
  }
  PSIM_PROBE(here == nullptr && shards_.view() > 0, "a shard begins anew");
  lead(here != nullptr ? *here : shards_.first_state(shard), shards_.owners().at(shard), cause);
  shards_.send_all();
}

// Sends the next owner the shard, or the part of its log that the next owner lacks.
void ServerFailover::hand_over(const Message& message, const Restore& request) {
  const std::uint32_t s = message.shard;
  const auto owner = shards_.owners().find(s);
  if (owner == shards_.owners().end() ||
      PSIM_PROBE(owner->second.epoch != message.epoch, "a former owner is asked for a shard too late"))
    return;
  ShardServer* const here = shards_.find(s);
  const ShardServer::Extent theirs{request.log_epoch, request.entries};
  const ShardServer::Extent ours = here != nullptr ? here->extent() : ShardServer::Extent{};
  const bool has_more = here != nullptr && (theirs.entries < 0 || ours > theirs);
  PSIM_PROBE(here == nullptr, "a server that is asked for a shard has lost it");
  PSIM_PROBE(here != nullptr && !has_more, "a server that is asked for a shard has nothing newer");
  State answer = has_more ? here->log_suffix_after(theirs) : State{};
  answer.entries = ours.entries;
  job_.network.send_once({.from = node_,
                          .to = message.from,
                          .shard = job_.plan.first_shard + s,
                          .epoch = message.epoch,
                          .body = std::move(answer)});
}

// The last owner or a replica answers with its state of a shard that this server will own.
void ServerFailover::on_peer(const Message& message, const State& answer) {
  const std::uint32_t s = message.shard;
  const Owner& owner = shards_.owners().at(s);
  if (PSIM_PROBE(message.epoch != owner.epoch, "a former owner's state comes too late")) return;
  ShardServer* const here = shards_.find(s);
  if (answer.rest) {
    if (here != nullptr) here->take_log_suffix(*answer.rest);
  } else if (answer.shard) {
    if (here == nullptr || extent_of(answer) > here->extent())
      shards_.received(s, answer).follow(node_, owner.epoch, node_, {});
  }
  wanted_.at(s).insert(message.from);
  if (owner.was_primary(message.from) && has_newest(s))
    return begin(s, cause_of(message));  // no node has more
  start_asking(s, cause_of(message));
}

// A worker sends its copy, or answers that it has no newer copy.
void ServerFailover::on_copy(const Message& message, const State& copy) {
  const std::uint32_t s = message.shard;
  ShardServer* const here = shards_.find(s);
  const auto wanted = wanted_.find(s);
  if (PSIM_PROBE(wanted == wanted_.end(), "a copy of a worker comes when the server leads")) {
    if (here == nullptr) return;
    shards_.act(*here, cause_of(message), [&](Outbox& out) { here->on(message, Agenda::now(), out); });
    return shards_.send_all();
  }
  if (shards_.owners().at(s).epoch != message.epoch) return;
  const auto best = copies_.find(s);
  if (copy.entries >= 0 && (best == copies_.end() || best->second.version < copy.version))
    copies_.insert_or_assign(s, copy);
  wanted->second.insert(message.from);
  start_asking(s, cause_of(message));
}

void ServerFailover::on_state(const Message& message, const State& state) {
  const std::uint32_t s = message.shard;
  const auto owner = shards_.owners().find(s);
  if (job_.plan.is_worker(message.from)) return on_copy(message, state);
  if (owner != shards_.owners().end() && owner->second.primary == node_) {
    if (PSIM_PROBE(!wanted_.contains(s), "a state comes when the server leads")) return;
    if (message.from != job_.plan.snapshot_node()) return on_peer(message, state);
    ShardServer* const here = shards_.find(s);
    const Part& part = shards_.keys().shards[s].part;
    if (state.shard && state.shard->options.part != part)
      return start_asking(s, cause_of(message));  // the shard was cut
    const bool is_newer = state.shard && (here == nullptr || extent_of(state) > here->extent());
    if (is_newer) shards_.received(s, state);
    return begin(s, cause_of(message));
  }
  const bool is_mine =
      owner != shards_.owners().end() && owner->second.epoch == message.epoch && holds_copy(owner->second);
  // This server asked the storage when it was to own the shard.
  if (!is_mine || message.from == job_.plan.snapshot_node()) return;
  ShardServer* const here = shards_.find(s);
  const std::int64_t entries = here == nullptr ? -1 : here->entries_in(message.epoch);
  if (PSIM_PROBE(entries >= state.entries, "a first state comes when the copy has more"))
    return confirm(s, owner->second, entries);
  shards_.received(s, state).follow(node_, message.epoch, message.from, next_in_chain(owner->second));
  confirm(s, owner->second, state.entries);
}

// The owner does not know that this copy was lost, or the message about the loss was lost.
void ServerFailover::lacks_state(const Message& entry) {
  const auto owner = shards_.owners().find(entry.shard);
  if (owner != shards_.owners().end() && owner->second.epoch == entry.epoch && holds_copy(owner->second))
    confirm(entry.shard, owner->second, std::nullopt);
}

// Tells the owner of a shard how much of its log is here; none: not even its first state.
void ServerFailover::confirm(std::uint32_t shard, const Owner& owner, std::optional<std::int64_t> entries) {
  job_.network.send({.from = node_,
                     .to = owner.primary,
                     .shard = job_.plan.first_shard + shard,
                     .epoch = owner.epoch,
                     .body = Replicated{entries}});
}

}  // namespace psim

#include "sim/nodes/server/server_actor.hpp"

#include <algorithm>
#include <utility>

#include "sim/nodes/job/attendance.hpp"
#include "sim/nodes/job/processor.hpp"
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
    job_.network.send({.from = node_,
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

}  // namespace psim

#include "sim/nodes/peers/mailbox.hpp"

#include <algorithm>
#include <utility>

#include "sim/nodes/job/requests.hpp"
#include "sim/protocol/probe.hpp"

namespace psim {
namespace {

bool is_of_group(const Message& message) {
  return message.is<Chunk>() || message.is<Activations>() || message.is<Errors>() || message.is<Standing>() ||
         message.is<Regroup>();
}

bool fits(const Mailbox::Wanted& wanted, const Message& message) {
  const MessageFacts facts = facts_of(message.body);
  return facts.kind == wanted.kind && message.from == wanted.from &&
         (!wanted.clock || facts.clock.value_or(0) == *wanted.clock) &&
         (!wanted.number || facts.number().value_or(0) == *wanted.number);
}

}  // namespace

void Mailbox::send_about(std::uint32_t part, NodeId to, Body&& body) {
  Message message{.from = node_, .to = to, .shard = part, .epoch = group_, .body = std::move(body)};
  message.because = job_.recorder.causes().cause();
  if (tracks_) {
    Backoff backoff(job_.plan.retry());
    const double due = Agenda::now() + backoff.next();
    sending_.push_back({message, backoff, due});
  }
  job_.network.send(std::move(message));
}

Message Mailbox::take(MessageKind kind, NodeId from, std::int64_t clock, std::int64_t number) {
  return take({kind, from, clock, number});
}

Message Mailbox::take_any(MessageKind kind, NodeId from) { return take(Wanted{.kind = kind, .from = from}); }

Message Mailbox::take(const Wanted& wanted) {
  wanted_ = wanted;
  if (wanted.kind != MessageKind::start) begin_wait(Awaited::peers, wanted.clock);
  for (;;) {
    const auto found = std::ranges::find_if(early_, [&](const Message& one) {
      return fits(wanted, one) && !(is_of_group(one) && one.epoch != group_);
    });
    if (found != early_.end()) {
      Message message = std::move(*found);
      early_.erase(found);
      wanted_.reset();
      job_.recorder.causes().needs(message.because.event);
      end_wait(Heard(message));
      return message;
    }
    keep_next();
  }
}

void Mailbox::keep_next() {
  std::optional<Message> message = next();
  if (!message) return;
  early_.push_back(std::move(*message));
}

void Mailbox::look() {
  while (job_.network.has_mail(node_)) keep_next();
}

void Mailbox::flush() {
  flushes_ = true;
  while (!sending_.empty()) keep_next();
  flushes_ = false;
  job_.recorder.causes().needs(delivered_);
}

void Mailbox::wait_until(std::optional<Awaited> what, std::int64_t clock,
                         const std::function<bool()>& is_over) {
  if (what) begin_wait(*what, clock);
  while (!is_over()) keep_next();
  end_wait(heard_);
}

void Mailbox::computes(bool does) {
  if (computes_ && !does) idle_since_ = Agenda::now();
  computes_ = does;
}

void Mailbox::end_wait(const Heard& last) {
  const std::optional<Waiting> wait = std::exchange(waiting_, {});
  if (wait && !computes_)
    record_wait(job_, node_, wait->what, std::max(wait->since, idle_since_), wait->clock, last);
}

void Mailbox::await_group() {
  awaits_group_ = true;
  begin_wait(Awaited::peers, {});
  for (;;) keep_next();
}

// A notice wakes a worker that waits only for arrivals.
void Mailbox::arrived(const Message& message) {
  const auto same = [&](const Sending& one) {
    const MessageFacts a = facts_of(one.message.body), b = facts_of(message.body);
    return a.kind == b.kind && one.message.to == message.to && one.message.epoch == message.epoch &&
           a.clock == b.clock && a.number() == b.number();
  };
  if (message.is<Restore>() || std::erase_if(sending_, same) == 0) return;
  delivered_ = message.because.event;
  if (flushes_) job_.network.notify({.from = message.to, .to = node_, .body = Ack{}});
}

void Mailbox::clear() {
  group_ = 0;
  newest_.reset();
  early_.clear();
  sending_.clear();
  wanted_.reset();
  waiting_.reset();
  flushes_ = awaits_group_ = computes_ = false;
}

void Mailbox::join(const SharedView& view) {
  if (view && view->number > this->view()) newest_ = view;
  if (view && job_.plan.scenario.recovery.workers != LostWorkers::wait)
    group_ = static_cast<std::uint32_t>(view->number);
  sending_.clear();
  wanted_.reset();
  waiting_.reset();
  flushes_ = awaits_group_ = false;
  std::erase_if(early_, [this](const Message& message) { return is_old(message); });
}

bool Mailbox::is_old(const Message& message) const {
  const State* state = message.as<State>();
  const bool is_stored = state != nullptr && message.from == job_.plan.snapshot_node();
  if (is_stored) return state->asked_in < group_;
  return is_of_group(message) && message.epoch < group_;
}

// The next message for the algorithm; none if another event has happened.
std::optional<Message> Mailbox::next() {
  std::optional<Message> message = receive();
  if (!message || message->is<Ack>() || message->is<LeaveAck>() ||
      PSIM_PROBE(is_old(*message), "a message of an old group comes"))
    return std::nullopt;
  if (const NewView* news = message->as<NewView>()) {
    if (news->view->number <= view()) return std::nullopt;
    newest_ = news->view;
    if (job_.plan.scenario.recovery.workers == LostWorkers::wait) return std::nullopt;
    PSIM_PROBE(computes_, "a view ends a group during a computation");
    PSIM_PROBE(!sending_.empty(), "a view ends a group while a message to a peer is open");
    end_wait(Heard(*message));
    look();  // throws if a still newer view has come during a computation
    throw NewGroup{newest_};
  }
  if (message->is<Samples>() || message->is<Assign>()) {
    heard_ = Heard(*message);
    if (other_) other_(*message);
    return std::nullopt;
  }
  if (PSIM_PROBE(message->is<AskView>(), "a peer tells a new scheduler its view")) {
    tell_view(job_, node_, newest_);
    return std::nullopt;
  }
  // The storage has answered.
  if (message->is<State>())
    std::erase_if(sending_, [](const Sending& one) { return one.message.is<Restore>(); });
  return message;
}

std::optional<Message> Mailbox::receive() {
  if (!job_.plan.scenario.may_fail() || sending_.empty()) return job_.network.receive(node_);
  const double due = std::ranges::min_element(sending_, {}, &Sending::due)->due;
  std::optional<Message> message = job_.network.receive_until(node_, due);
  if (!message) send_again();
  return message;
}

void Mailbox::send_again() {
  for (Sending& one : sending_) {
    if (one.due > Agenda::now()) continue;
    // Also if the worker gives up: with an old `due`, receive() would never wait again, and the agenda could
    // not end the run.
    const Due due = job_.due(one.message);
    one.due = Agenda::now() + one.backoff.next(due);
    if (job_.run.is_hopeless()) return;
    if (PSIM_PROBE(due != Due::repeated, "a message to a peer is still under way")) continue;
    if (one.backoff.gives_up()) return job_.run.give_up(node_);
    const MessageFacts facts = facts_of(one.message.body);
    const Cause asked{one.message.because.event, Spent::timeout};
    PSIM_PROBE(true, "a message to a peer is repeated");
    job_.record(node_, Repetition{one.message.to, facts.kind, 0, facts.pull, facts.push}, asked);
    Message again = one.message;
    again.because = job_.recorder.causes().cause();
    job_.network.send_again(std::move(again));
  }
}

}  // namespace psim

#include "sim/nodes/job/requests.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

void Requests::ask(std::int64_t number, Message&& request, std::optional<NodeId> later) {
  request.because = job_.recorder.causes().cause();
  if (job_.plan.scenario.may_fail()) {
    Backoff backoff(job_.plan.retry());
    const double due = Agenda::now() + backoff.next();
    open_.insert_or_assign({kind_of(request), number}, Request{request, later, backoff, due});
  }
  job_.network.send(std::move(request));
}

void Requests::forget(MessageKind kind) {
  std::erase_if(open_, [kind](const auto& entry) { return entry.first.first == kind; });
}

std::optional<double> Requests::next() const {
  std::optional<double> first;
  for (const auto& [name, request] : open_) first = std::min(first.value_or(request.due), request.due);
  return first;
}

void Requests::repeat(double now) {
  for (auto& [name, request] : open_) {
    if (request.due > now) continue;
    const Due due = job_.due(request.message);
    request.due = now + request.backoff.next(due);
    if (PSIM_PROBE(due != Due::repeated, "a repetition is not necessary yet")) continue;
    if (request.backoff.gives_up()) job_.run.give_up(node_);
    if (request.later) request.message.to = *request.later;
    const Cause asked{request.message.because.event, Spent::timeout};
    job_.record(node_, Repetition{request.message.to, name.first, 0, {}, {}}, asked);
    Message again = request.message;
    again.because = job_.recorder.causes().cause();
    job_.network.send_again(std::move(again));
  }
}

void tell_view(JobContext& job, NodeId node, const SharedView& view) {
  if (view) job.network.send_once({.from = node, .to = scheduler_node, .body = NewView{view}});
}

namespace {

// Repeats a message to the scheduler until `answers` accepts a message that comes back. `meanwhile` is done
// after the first message, and returns whether it has received the answer. A node without heartbeats, at its
// beginning or end, learns only here that no answer will come.
void tell_until(JobContext& job, NodeId node, const Body& body, const std::function<bool(Message&)>& answers,
                const std::function<bool()>& meanwhile = {}) {
  Backoff backoff(job.plan.retry());
  const Message message{.from = node, .to = scheduler_node, .body = body};
  job.network.send_once(Message(message));
  if (meanwhile && meanwhile()) return;
  for (Due due = Due::repeated;;) {
    const double until = Agenda::now() + backoff.next(due);
    while (std::optional<Message> heard = job.network.receive_until(node, until)) {
      if (answers(*heard)) return;
    }
    due = job.due(message);
    if (PSIM_PROBE(due != Due::repeated,
                   "a node does not repeat a message to the scheduler that is under way"))
      continue;
    if (!job.run.is_hopeless() && backoff.gives_up()) job.run.give_up(node);
    job.network.send(Message(message));
  }
}

}  // namespace

Start join(JobContext& job, NodeId node, const std::function<void(Message)>& others,
           const std::function<std::optional<Start>()>& meanwhile) {
  const Join here{job.network.incarnation(node)};
  std::optional<Start> start;
  const auto is_start = [&](Message& message) {
    const Start* answer = message.as<Start>();
    if (answer != nullptr) start = *answer;
    else if (others) others(std::move(message));
    return start.has_value();
  };
  if (!job.plan.scenario.may_fail()) {
    job.network.send({.from = node, .to = scheduler_node, .body = here});
    if (meanwhile) start = meanwhile();
    for (Message message; !start;) {
      message = job.network.receive(node);
      is_start(message);
    }
    return *start;
  }
  job.state.progress.joins(node);
  tell_until(job, node, here, is_start, [&] {
    if (meanwhile) start = meanwhile();
    return PSIM_PROBE(start.has_value(), "a node hears in its first work that it may start");
  });
  job.state.progress.has_joined(node);
  return *start;
}

void leave(JobContext& job, NodeId node) {
  const Leave done{.life = job.network.incarnation(node)};
  if (!job.plan.scenario.may_fail())
    return job.network.send({.from = node, .to = scheduler_node, .body = done});
  tell_until(job, node, done, [](const Message& message) { return message.is<LeaveAck>(); });
}

}  // namespace psim

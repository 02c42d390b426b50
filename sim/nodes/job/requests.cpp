#include "sim/nodes/job/requests.hpp"

#include <algorithm>

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

}  // namespace psim

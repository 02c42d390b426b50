#include "sim/protocol/client/reliable_requests.hpp"

#include <optional>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

void ReliableRequests::send(Message request) {
  request.because = out_.cause();  // also for the time without an answer
  queue_.sent(request, out_.now());
  out_.send(with_oldest(std::move(request)));
}

void ReliableRequests::repeat(double now) {
  const auto how = [this](const Message& request) {
    const Due due = out_.due(request);
    PSIM_PROBE(due != Due::repeated, "a request is not repeated, because it is under way");
    return due;
  };
  for (Message& due : queue_.due(now, how)) {
    PSIM_PROBE(due.is<Push>(), "a push is repeated");
    const Cause asked{due.because.event, Spent::timeout};
    out_.send_again(again(std::move(due)), asked);
  }
  if (PSIM_PROBE(queue_.gave_up(), "a client gives up")) out_.give_up();
}

void ReliableRequests::send_to(std::uint32_t shard, const Owner& owner) {
  for (Message& request : queue_.again(shard, owner.primary, owner.epoch, out_.now())) {
    PSIM_PROBE(request.is<Push>(), "an open push goes to a new owner");
    out_.send(again(std::move(request)));
  }
}

Message ReliableRequests::with_oldest(Message request) const {
  const std::optional<std::int64_t> kept = queue_.oldest(request.shard);
  if (Pull* pull = request.as<Pull>())
    pull->oldest_resendable = kept.value_or(pull->pushes_sent.value_or(-1));
  if (Push* push = request.as<Push>()) push->oldest_resendable = kept.value_or(push->number);
  return request;
}

// A worker that repeats a pull is not computing; its pushes since the first request may be on their way. It
// is unknown which key lists of earlier pushes the receiver has.
Message ReliableRequests::again(Message request) const {
  request.because = out_.cause();
  if (Push* push = request.as<Push>()) push->gradient.list_keys();
  if (Pull* pull = request.as<Pull>()) {
    pull->computes = false;
    pull->list_keys();
    if (pull->pushes_sent) pull->pushes_sent = pushes_to_(request.shard);
  }
  return with_oldest(std::move(request));
}

}  // namespace psim

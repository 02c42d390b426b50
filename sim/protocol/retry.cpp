#include "sim/protocol/retry.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/protocol/probe.hpp"

namespace psim {

double Backoff::next(Due last) {
  constexpr double share = 0.01;  // of all its waits: nobody looks a million times at a message of hours
  const bool grows = last != Due::under_way;
  if (wait_ == 0) wait_ = spec_.timeout;
  else if (grows) wait_ = std::min(wait_ * spec_.backoff, spec_.longest);
  expects(wait_ > 0, "a repetition comes later");
  const double wait = grows ? wait_ : std::max(wait_, share * waited_);
  waited_ += wait;
  return wait;
}

bool Backoff::gives_up() { return ++repeated_ > spec_.limit && spec_.limit > 0; }

RetryQueue::Request RetryQueue::sent_at(Message message, double now) const {
  Request request{.message = std::move(message), .backoff = Backoff(spec_)};
  request.due = now + request.backoff.next();
  return request;
}

void RetryQueue::sent(const Message& message, double now) {
  Request request = sent_at(message, now);
  if (const Push* push = message.as<Push>())
    pushes_.insert_or_assign({message.shard, push->number}, std::move(request));
  else pulls_.insert_or_assign(message.shard, std::move(request));
}

void RetryQueue::accepted(std::uint32_t shard, std::int64_t number) {
  const auto push = pushes_.find({shard, number});
  if (!PSIM_PROBE(push == pushes_.end(), "a push is acknowledged after it is safe"))
    push->second.waits = false;
}

void RetryQueue::committed(std::uint32_t shard, std::int64_t applied) {
  const auto first = pushes_.lower_bound({shard, 0}), last = pushes_.lower_bound({shard, applied});
  PSIM_PROBE(std::any_of(first, last, [](const auto& push) { return push.second.waits; }),
             "a push is safe, but was not acknowledged");
  pushes_.erase(first, last);
}

void RetryQueue::answered(std::uint32_t shard) { pulls_.erase(shard); }

std::optional<double> RetryQueue::next() const {
  std::optional<double> least;
  const auto look_at = [&least](const Request& request) {
    if (request.waits) least = std::min(least.value_or(request.due), request.due);
  };
  for (const auto& [key, request] : pushes_) look_at(request);
  for (const auto& [key, request] : pulls_) look_at(request);
  return least;
}

std::vector<Message> RetryQueue::due(double now, const std::function<Due(const Message&)>& how) {
  std::vector<Message> messages;
  const auto repeat = [&](Request& request) {
    if (!request.waits || request.due > now) return;
    const Due due = how(request.message);
    request.due = now + request.backoff.next(due);
    if (due != Due::repeated) return;
    gave_up_ = request.backoff.gives_up() || gave_up_;
    messages.push_back(request.message);
  };
  for (auto& [key, request] : pushes_) repeat(request);
  for (auto& [key, request] : pulls_) repeat(request);
  return messages;
}

std::vector<Message> RetryQueue::again(std::uint32_t shard, NodeId owner, std::uint32_t epoch, double now) {
  std::vector<Message> messages;
  const auto repeat = [&](Request& request) {
    request.message.to = owner;
    request.message.epoch = epoch;
    request = sent_at(std::move(request.message), now);
    messages.push_back(request.message);
  };
  const auto end = pushes_.lower_bound({shard + 1, 0});
  for (auto push = pushes_.lower_bound({shard, 0}); push != end; ++push) repeat(push->second);
  if (const auto pull = pulls_.find(shard); pull != pulls_.end()) repeat(pull->second);
  return messages;
}

void RetryQueue::cut(std::uint32_t shard, std::uint32_t upper, std::size_t at) {
  const auto cut_one = [&](Request& request) {
    Request above = request;
    above.message.shard = upper;
    if (Push* push = request.message.as<Push>())
      std::tie(push->gradient, above.message.as<Push>()->gradient) = split(push->gradient, at);
    if (Pull* pull = request.message.as<Pull>()) {
      Pull& rest = *above.message.as<Pull>();
      std::tie(pull->keys, rest.keys) = split(pull->keys, at);
      pull->list = rest.list = {};  // they are lists of other keys
    }
    return above;
  };
  for (auto push = pushes_.lower_bound({shard, 0}); push != pushes_.end() && push->first.first == shard;
       ++push)
    pushes_.insert_or_assign({upper, push->first.second}, cut_one(push->second));
  if (const auto pull = pulls_.find(shard); pull != pulls_.end())
    pulls_.insert_or_assign(upper, cut_one(pull->second));
}

std::optional<std::int64_t> RetryQueue::oldest(std::uint32_t shard) const {
  const auto push = pushes_.lower_bound({shard, 0});
  if (push == pushes_.end() || push->first.first != shard) return std::nullopt;
  return push->first.second;
}

}  // namespace psim

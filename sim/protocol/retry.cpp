#include "sim/protocol/retry.hpp"

#include <algorithm>

#include "model/mutant.hpp"

namespace psim {

void RetryQueue::schedule(Request& request, double now) const {
  request.wait = request.wait == 0
                     ? spec_.timeout
                     : std::min(request.wait * (mutant("no-back-off") ? 1 : spec_.backoff), spec_.longest);
  request.due = now + request.wait;
}

void RetryQueue::sent(const Message& message, double now) {
  Request request{.message = message};
  schedule(request, now);
  if (message.kind == MessageKind::push)
    pushes_.insert_or_assign({message.shard, message.number}, std::move(request));
  else pulls_.insert_or_assign(message.shard, std::move(request));
}

void RetryQueue::accepted(std::uint32_t shard, std::int64_t number) {
  const auto push = pushes_.find({shard, number});
  if (push != pushes_.end()) push->second.waits = false;
}

void RetryQueue::committed(std::uint32_t shard, std::int64_t applied) {
  pushes_.erase(pushes_.lower_bound({shard, 0}),
                pushes_.lower_bound({shard, applied + (mutant("one-more-is-safe") ? 1 : 0)}));
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

std::vector<Message> RetryQueue::due(double now) {
  std::vector<Message> messages;
  const auto repeat = [&](Request& request) {
    if (!request.waits || request.due > now) return;
    gave_up_ =
        gave_up_ || (spec_.limit > 0 && request.repeated >= spec_.limit + (mutant("one-more-try") ? 1 : 0));
    ++request.repeated;
    schedule(request, now);
    messages.push_back(request.message);
  };
  for (auto& [key, request] : pushes_) repeat(request);
  for (auto& [key, request] : pulls_) repeat(request);
  return messages;
}

std::vector<Message> RetryQueue::again(std::uint32_t shard, NodeId owner, std::uint32_t epoch, double now) {
  std::vector<Message> messages;
  const auto repeat = [&](Request& request) {
    request = {.message = std::move(request.message)};
    request.message.to = owner;
    request.message.epoch = epoch;
    schedule(request, now);
    messages.push_back(request.message);
  };
  const auto end = pushes_.lower_bound({shard + 1, 0});
  for (auto push = pushes_.lower_bound({shard, 0}); push != end; ++push) repeat(push->second);
  if (const auto pull = pulls_.find(shard); pull != pulls_.end()) repeat(pull->second);
  return messages;
}

std::optional<std::int64_t> RetryQueue::kept(std::uint32_t shard) const {
  const auto push = pushes_.lower_bound({shard, 0});
  if (push == pushes_.end() || push->first.first != shard) return std::nullopt;
  return push->first.second;
}

}  // namespace psim

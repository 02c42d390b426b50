#include "sim/nodes/shard_causes.hpp"

#include <algorithm>

namespace psim {
namespace {

constexpr std::size_t most = 1024;  // entries that are kept; older ones are never used

using Entry = std::pair<std::int64_t, std::int64_t>;

void add(auto& all, std::int64_t number, std::int64_t event) {
  while (!all.empty() && all.back().first >= number) all.pop_back();  // the shard was set back
  all.emplace_back(number, event);
}

}  // namespace

ShardCauses::OfWorker& ShardCauses::of(std::uint32_t number, NodeId worker) {
  OfShard& shard = shards_[number];
  if (worker >= shard.workers.size()) shard.workers.resize(std::max<std::size_t>(worker + 1, nodes_));
  return shard.workers[worker];
}

// Later pulls follow at least as many pushes. So no later pull needs the earlier outcomes.
void ShardCauses::arrives(const Message& message) {
  if (const Push* push = message.as<Push>()) {
    OfShard& shard = shards_[message.shard];
    if (shard.newest.event >= 0) shard.before[shard.newest.push] = shard.newest.event;
    shard.before.erase(push->id());
    shard.newest = {push->id(), message.because.event};
  } else if (const Pull* pull = message.as<Pull>()) {
    OfWorker& worker = of(message.shard, message.from);
    worker.arrival = message.because.event;
    worker.above = pull->above;
    worker.pushes = pull->pushes_sent.value_or(0);
    const auto later = std::ranges::lower_bound(worker.outcomes, worker.pushes, {}, &Entry::first);
    if (later - worker.outcomes.begin() > 1) worker.outcomes.erase(worker.outcomes.begin(), later - 1);
  }
}

std::int64_t ShardCauses::take(std::uint32_t number, const PushId& push) {
  OfShard& shard = shards_[number];
  if (shard.newest.event >= 0 && shard.newest.push == push) return std::exchange(shard.newest.event, -1);
  const auto arrival = shard.before.extract(push);
  return arrival.empty() ? -1 : arrival.mapped();
}

void ShardCauses::has_outcome(std::uint32_t shard, const PushId& push, std::int64_t event) {
  auto& outcomes = of(shard, push.worker).outcomes;
  add(outcomes, push.number, event);
  if (outcomes.size() == 2 * most) outcomes.erase(outcomes.begin(), outcomes.begin() + most);
}

void ShardCauses::makes(std::uint32_t shard, std::int64_t version, std::int64_t event) {
  auto& versions = shards_[shard].versions;
  add(versions, version, event);
  if (versions.size() > most) versions.pop_front();
}

std::int64_t ShardCauses::closing(std::uint32_t number, bool by_window) const {
  const auto shard = shards_.find(number);
  if (shard == shards_.end()) return -1;
  if (!by_window) return shard->second.versions.empty() ? -1 : shard->second.versions.back().second;
  std::int64_t first = shard->second.newest.event;
  for (const auto& [push, arrival] : shard->second.before) {
    if (first < 0 || arrival < first) first = arrival;
  }
  return first;
}

std::int64_t ShardCauses::closing(const ShardServer& server, double now) const {
  const std::optional<double> date = server.closes_at(now);
  if (!date || *date > now) return -1;
  const ShardState& state = server.state();
  return closing(server.shard(), state.updates.closes_by_window(state.view(now), state.memory));
}

Dependencies ShardCauses::of_answer(const Message& answer, const ShardServer* server) const {
  Dependencies needs = of_answer(answer.shard, answer.to);
  if (server == nullptr) return needs;
  const ShardState& state = server->state();
  const NodeId first = state.options.first_worker;
  if (answer.to < first || answer.to >= first + state.workers.size()) return needs;  // an inference node
  const std::optional<std::int64_t> clock = state.policy().needed_clock(
      {.clocks = state.workers, .worker = state.index_of(answer.to), .clock = answer.as<Answer>()->clock},
      state.memory);
  if (clock) needs.push_back({.clock = clock});
  return needs;
}

Dependencies ShardCauses::of_answer(std::uint32_t number, NodeId node) const {
  Dependencies needs;
  const auto shard = shards_.find(number);
  if (shard == shards_.end() || node >= shard->second.workers.size()) return needs;
  const OfWorker& worker = shard->second.workers[node];
  if (worker.arrival < 0) return needs;
  needs.push_back({.event = worker.arrival});
  const auto later = std::ranges::lower_bound(worker.outcomes, worker.pushes, {}, &Entry::first);
  if (later != worker.outcomes.begin()) needs.push_back({.event = std::prev(later)->second});
  const auto& versions = shard->second.versions;
  const auto newer = std::ranges::upper_bound(versions, worker.above, {}, &Entry::first);
  if (worker.above >= 0 && newer != versions.end()) needs.push_back({.event = newer->second});
  return needs;
}

}  // namespace psim

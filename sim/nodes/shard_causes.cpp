#include "sim/nodes/shard_causes.hpp"

#include <algorithm>

namespace psim {
namespace {

constexpr std::size_t most = 1024;  // entries that are kept; older ones are never used

using Entry = std::pair<std::int64_t, std::int64_t>;

void add(std::deque<Entry>& all, std::int64_t number, std::int64_t event) {
  while (!all.empty() && all.back().first >= number) all.pop_back();  // the shard was set back
  all.emplace_back(number, event);
  if (all.size() > most) all.pop_front();
}

}  // namespace

void ShardCauses::arrives(const Message& message) {
  if (const Push* push = message.as<Push>()) {
    pushes_[{message.shard, push->id()}] = message.because.event;
  } else if (const Pull* pull = message.as<Pull>()) {
    pulls_[{message.shard, message.from}] = {message.because.event, pull->above,
                                             pull->pushes_sent.value_or(0)};
  }
}

std::int64_t ShardCauses::take(std::uint32_t shard, const PushId& push) {
  const auto arrival = pushes_.extract({shard, push});
  return arrival.empty() ? -1 : arrival.mapped();
}

void ShardCauses::has_outcome(std::uint32_t shard, const PushId& push, std::int64_t event) {
  add(outcomes_[{shard, push.worker}], push.number, event);
}

void ShardCauses::makes(std::uint32_t shard, std::int64_t version, std::int64_t event) {
  add(versions_[shard], version, event);
}

std::int64_t ShardCauses::closing(std::uint32_t shard, bool by_window) const {
  if (!by_window) {
    const auto made = versions_.find(shard);
    return made == versions_.end() || made->second.empty() ? -1 : made->second.back().second;
  }
  std::int64_t first = -1;
  for (const auto& [push, arrival] : pushes_) {
    if (push.first == shard && (first < 0 || arrival < first)) first = arrival;
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

Dependencies ShardCauses::of_answer(std::uint32_t shard, NodeId worker) const {
  Dependencies needs;
  const auto pull = pulls_.find({shard, worker});
  if (pull == pulls_.end()) return needs;
  const auto& [arrival, above, pushes] = pull->second;
  needs.push_back({.event = arrival});
  const auto own = outcomes_.find({shard, worker});
  if (own != outcomes_.end()) {
    const auto later = std::ranges::lower_bound(own->second, pushes, {}, &Entry::first);
    if (later != own->second.begin()) needs.push_back({.event = std::prev(later)->second});
  }
  const auto made = versions_.find(shard);
  if (above >= 0 && made != versions_.end()) {
    const auto newer = std::ranges::upper_bound(made->second, above, {}, &Entry::first);
    if (newer != made->second.end()) needs.push_back({.event = newer->second});
  }
  return needs;
}

}  // namespace psim

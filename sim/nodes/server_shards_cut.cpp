// Shards that are cut, and what goes through them, by which is decided where to cut.
#include <memory>
#include <utility>

#include "sim/nodes/server_shards.hpp"

namespace psim {

ShardServer ServerShards::part_of(const ShardServer& whole, std::uint32_t shard) const {
  ShardServer::Options options = options_of(shard);
  State state = whole.whole_state();
  state.shard = std::make_shared<const ShardState>(state.shard->piece(options.state));
  ShardServer part(std::move(options), state);
  part.leave_log();
  return part;
}

std::set<std::uint32_t> ServerShards::cut() {
  std::set<std::uint32_t> led;
  const std::vector<Shard>& all = keys().shards;
  std::map<std::uint32_t, ShardServer> parts;
  for (const auto& [number, whole] : shards_) {
    const Part& here = whole.state().options.part;
    if (here == all[number].part) continue;
    discard_pending(whole);
    for (std::uint32_t s = 0; s < all.size(); ++s) {
      if (!here.covers(all[s].part)) continue;
      parts.emplace(s, part_of(whole, s));
      if (whole.leads()) led.insert(s);
    }
    std::erase_if(filters_, [number = number](const auto& chain) { return chain.first.first == number; });
  }
  for (auto& [shard, part] : parts) shards_.insert_or_assign(shard, std::move(part));
  return led;
}

void ServerShards::count(std::uint32_t shard, std::size_t values) {
  const ShardServer* server = find(shard);
  if (job_.plan.scenario.recovery.rebalance != Rebalance::load || server == nullptr) return;
  ShardLoad& load = loads_.try_emplace(shard, ShardLoad{.shard = shard}).first->second;
  if (load.epoch != server->epoch()) load = {.shard = shard, .epoch = server->epoch()};
  load.values += values;
}

std::vector<ShardLoad> ServerShards::loads() const {
  std::vector<ShardLoad> all;
  for (const auto& [shard, load] : loads_) {
    const ShardServer* server = find(shard);
    if (server != nullptr && server->leads() && server->epoch() == load.epoch) all.push_back(load);
  }
  return all;
}

}  // namespace psim

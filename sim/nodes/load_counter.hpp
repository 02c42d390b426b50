// The number of values that have gone in and out of the shards of one server. The scheduler cuts shards by
// this load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/protocol/scheduler_messages.hpp"
#include "sim/protocol/server/shard_server.hpp"

namespace psim {

class LoadCounter {
 public:
  // `are_counted`: whether the scheduler needs these numbers.
  explicit LoadCounter(bool are_counted) : are_counted_(are_counted) {}

  // `values` values have gone through this shard. The count begins anew in each epoch of ownership.
  void add(const ShardServer& server, std::size_t values) {
    if (!are_counted_) return;
    ShardLoad& load = loads_.try_emplace(server.shard(), ShardLoad{.shard = server.shard()}).first->second;
    if (load.epoch != server.epoch()) load = {.shard = server.shard(), .epoch = server.epoch()};
    load.values += values;
  }
  // The loads of the shards in `shards` that this server leads.
  std::vector<ShardLoad> of(const std::map<std::uint32_t, ShardServer>& shards) const {
    std::vector<ShardLoad> led;
    for (const auto& [shard, load] : loads_) {
      const auto server = shards.find(shard);
      if (server == shards.end() || !server->second.leads()) continue;
      if (server->second.epoch() == load.epoch) led.push_back(load);
    }
    return led;
  }

 private:
  bool are_counted_;
  std::map<std::uint32_t, ShardLoad> loads_;  // by shard
};

}  // namespace psim

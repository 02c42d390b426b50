#include "sim/protocol/scheduler/shard_loads.hpp"

#include <algorithm>
#include <utility>

namespace psim {

void ShardLoads::add(const ShardLoad& load) {
  if (load.shard >= shards_.size()) return;
  Load& known = shards_[load.shard];
  if (load.epoch < known.epoch) return;
  if (load.epoch > known.epoch) known.told = 0;
  known.epoch = load.epoch;
  known.values += load.values - std::min(load.values, known.told);
  known.told = std::max(known.told, load.values);
}

void ShardLoads::measure(double now) {
  const auto has_values = [](const Load& load) { return load.values > 0; };
  if (!(now > since_) || std::ranges::none_of(shards_, has_values)) return;
  for (Load& load : shards_) load.rate = static_cast<double>(std::exchange(load.values, 0)) / (now - since_);
  since_ = now;
}

bool ShardLoads::are_known() const {
  return std::ranges::any_of(shards_, [](const Load& load) { return load.rate > 0; });
}

void ShardLoads::cut(std::size_t shard, double share) {
  Load above = shards_[shard];
  above.rate *= share;
  shards_[shard].rate -= above.rate;
  shards_.push_back(above);
}

}  // namespace psim

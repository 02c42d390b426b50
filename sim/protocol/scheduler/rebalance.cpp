#include "sim/protocol/scheduler/rebalance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

namespace psim {
namespace {

constexpr double about = 0.05;               // of the mean
constexpr std::size_t shards_of_server = 4;  // with more shards, none is cut

class Shares {
 public:
  Shares(std::vector<LoadedShard> shards, const std::vector<std::uint32_t>& servers, std::uint32_t joiner)
      : shards_(std::move(shards)), joiner_(joiner) {
    for (const std::uint32_t server : servers) loads_[server] = 0;
    for (const LoadedShard& shard : shards_) {
      if (loads_.contains(shard.server)) loads_[shard.server] += shard.load;
    }
    const auto add = [](double sum, const auto& one) { return sum + one.second; };
    mean_ = std::accumulate(loads_.begin(), loads_.end(), 0.0, add) / static_cast<double>(loads_.size());
  }

  // The next shard that moves.
  std::optional<Taken> take() {
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto giver = std::ranges::max_element(loads_, less);
    const double room = std::min(mean_ - loads_[joiner_], giver->second - mean_);
    if (giver->first == joiner_ || !(room > about * mean_)) return std::nullopt;
    const std::optional<std::uint32_t> whole = most_loaded(giver->first, room);
    if (whole) return give(giver->first, {*whole, 0}, shards_[*whole]);
    if (shards_.size() >= shards_of_server * loads_.size()) return std::nullopt;
    const std::optional<std::uint32_t> large = most_loaded(giver->first, HUGE_VAL);
    return large ? give_part(giver->first, *large, room) : std::nullopt;
  }

 private:
  std::optional<std::uint32_t> most_loaded(std::uint32_t server, double room) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
      const LoadedShard& shard = shards_[s];
      const bool fits = shard.server == server && shard.load > 0 && shard.load <= room * (1 + 1e-9);
      if (fits && (!best || shard.load > shards_[*best].load)) best = s;
    }
    return best;
  }

  std::optional<Taken> give_part(std::uint32_t giver, std::uint32_t s, double room) {
    LoadedShard& shard = shards_[s];
    const double share = room / shard.load;
    const auto moved = static_cast<std::size_t>(std::llround(share * static_cast<double>(shard.values)));
    if (moved == 0 || moved >= shard.values) return std::nullopt;
    const double load = shard.load * static_cast<double>(moved) / static_cast<double>(shard.values);
    shard.load -= load;
    shard.values -= moved;
    shards_.push_back({giver, load, moved});
    return give(giver, {s, shards_[s].values}, shards_.back());
  }

  Taken give(std::uint32_t giver, const Taken& what, LoadedShard& shard) {
    loads_[giver] -= shard.load;
    loads_[joiner_] += shard.load;
    shard.server = joiner_;
    return what;
  }

  std::vector<LoadedShard> shards_;
  std::uint32_t joiner_;
  std::map<std::uint32_t, double> loads_;  // by server
  double mean_ = 0;
};

}  // namespace

std::vector<Taken> take_share(std::vector<LoadedShard> shards, const std::vector<std::uint32_t>& servers,
                              std::uint32_t joiner) {
  Shares shares(std::move(shards), servers, joiner);
  std::vector<Taken> all;
  while (const std::optional<Taken> next = shares.take()) all.push_back(*next);
  return all;
}

}  // namespace psim

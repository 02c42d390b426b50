// The gradients of which some shards applied their part, and others dropped theirs as too late or too stale.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace psim {

class TornGradients {
 public:
  // A shard of `shards` has applied or dropped its part of a gradient: push number `push` of `worker`.
  void on_part(std::size_t worker, std::int64_t push, bool is_applied, std::size_t shards) {
    if (shards < 2) return;
    const auto parts = open_.try_emplace({worker, push}).first;
    auto& [applied, dropped] = parts->second;
    ++(is_applied ? applied : dropped);
    const bool is_first_of_both = (is_applied ? applied : dropped) == 1;
    if (applied > 0 && dropped > 0 && is_first_of_both) ++count_;
    if (applied + dropped >= shards) open_.erase(parts);
  }
  std::int64_t count() const { return count_; }

 private:
  // By worker and push: parts that were applied, and dropped, while others are missing.
  std::map<std::pair<std::size_t, std::int64_t>, std::pair<std::size_t, std::size_t>> open_;
  std::int64_t count_ = 0;
};

}  // namespace psim

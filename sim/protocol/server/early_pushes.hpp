// A server takes a worker's pushes in the worker's order, but a small push may overtake a large one in the
// network. This class keeps the pushes that come too early.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

class EarlyPushes {
 public:
  // Returns whether the push is new.
  bool keep(std::uint32_t worker, const Push& push) {
    return pushes_.try_emplace({worker, push.number}, push).second;
  }
  // The worker's earliest kept push, if its number is at most `next`.
  std::optional<Push> take(std::uint32_t worker,
                           std::int64_t next = std::numeric_limits<std::int64_t>::max()) {
    const auto first = pushes_.lower_bound({worker, 0});
    if (first == pushes_.end() || first->first > std::pair(worker, next)) return std::nullopt;
    return std::move(pushes_.extract(first).mapped());
  }
  std::vector<Push> all() const {
    std::vector<Push> result;
    for (const auto& [id, push] : pushes_) result.push_back(push);
    return result;
  }
  void clear() { pushes_.clear(); }

 private:
  std::map<std::pair<std::uint32_t, std::int64_t>, Push> pushes_;  // by worker and number
};

}  // namespace psim

// A worker's pushes are taken in its order, though a small one may overtake a large one on its way: those
// that have come too early.
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
  // Returns whether it was not here yet.
  bool keep(std::uint32_t worker, const Push& push) {
    return pushes_.try_emplace({worker, push.number}, push).second;
  }
  // The worker's first one, if its number is not above `next`.
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

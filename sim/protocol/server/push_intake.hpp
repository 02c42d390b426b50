// Sorts the pushes of one shard into the order of their workers. Each push counts once and gets its keys.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/protocol/server/shard_context.hpp"

namespace psim {

// A server takes a worker's pushes in the worker's order, but a small push may overtake a large one in the
// network. This class keeps the pushes that come too early.
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

class PushIntake {
 public:
  // `confirms`: tells workers at once that a push has arrived, so that they need not send it again.
  explicit PushIntake(bool confirms) : confirms_(confirms) {}

  // Whether the push is its worker's next one. A later push waits for the pushes before it; an earlier push
  // is a duplicate.
  bool is_next(const Push& push, const ShardContext& shard);
  // The push with its keys. None if this server does not know the keys: then the push counts as lost, and its
  // worker will repeat it with the keys.
  std::optional<Push> read(const Push& push, const ShardContext& shard);
  // The worker's next push, if it has come early. Refuses earlier pushes, which were skipped.
  std::optional<Push> take_early(std::uint32_t worker, const ShardContext& shard);
  // Tells the worker that its push has arrived, and how many of its pushes are safe.
  void confirm(const Push& push, const ShardContext& shard) const;
  bool confirms() const { return confirms_; }

  std::vector<Push> early() const { return early_.all(); }
  // The worker takes no part any more.
  void refuse_early(std::uint32_t worker, Outbox& out);
  void clear_early() { early_.clear(); }
  // Another epoch of ownership begins.
  void forget_keys() { known_keys_.clear(); }

 private:
  bool confirms_;
  EarlyPushes early_;
  std::vector<KeyMemory> known_keys_;  // by worker: of its pushes in this epoch
};

}  // namespace psim

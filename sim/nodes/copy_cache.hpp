// The weights that a worker keeps between pulls (Bösen, Angel): it asks for a shard only if its copy lacks
// pushes that the staleness bound promises it (Ho et al., NIPS 2013: what is read at clock t has all pushes
// of clocks up to t - s - 1). In between it applies its own pushes to the copy: read-my-writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/job_plan.hpp"

namespace psim {

class CopyCache {
 public:
  explicit CopyCache(const JobPlan& plan);

  bool is_on() const { return !copies_.empty(); }
  // A shard's weights have come; they have every worker's pushes before clock `slowest`.
  void received(std::uint32_t shard, std::int64_t slowest) {
    if (is_on()) copies_[shard].clock = slowest;
  }
  // The shard has another owner, and perhaps another history.
  void forget(std::uint32_t shard) {
    if (is_on()) copies_[shard].clock.reset();
  }
  void forget_all() {
    for (Copy& copy : copies_) copy.clock.reset();
  }
  // The shard becomes two; the new one has the next free number.
  void cut(std::uint32_t shard) {
    if (is_on()) copies_.push_back(Copy(copies_[shard]));
  }
  // Whether `clock` may start with the copy that is here. The last pull, by which servers learn that a worker
  // is through, is for new weights.
  bool does(std::uint32_t shard, std::int64_t clock) const;
  // The copy `weights` after this worker's own push: what the server makes of that push alone, as plain SGD.
  // The gradient, of `samples` samples, is over the whole key space; null for a phantom model.
  Slice with_own_push(const Shard& shard, const Slice& weights, const std::shared_ptr<Values>& gradient,
                      std::int64_t clock, std::int64_t samples) const;

 private:
  struct Copy {
    ConsistencyRule rule;
    std::optional<std::int64_t> clock = {};  // none: no copy
  };
  const JobPlan& plan_;
  std::vector<Copy> copies_;  // by shard; none without a cache
};

}  // namespace psim

// Pushes that wait for an update, in the order of their arrival. The class also counts the pending pushes of
// each worker, because every answer to one of ten thousand workers needs that count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/protocol/consistency_policy.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

// The pushes of an update in worker order, and their relative weights; no weights: 1.
struct WeighedPushes {
  std::vector<Push> pushes = {};
  std::vector<double> weights = {};
};

class PendingPushes {
 public:
  PendingPushes(NodeId first_worker, std::size_t workers) : first_worker_(first_worker), counts_(workers) {}

  const std::vector<Push>& all() const { return pushes_; }
  bool empty() const { return pushes_.empty(); }
  std::uint32_t count_of(NodeId worker) const { return counts_[worker - first_worker_]; }

  void add(Push push) {
    ++counts_[push.worker - first_worker_];
    pushes_.push_back(std::move(push));
  }
  void remove(const PushId& id) {
    if (count_of(id.worker) == 0) return;
    const auto removed = std::erase_if(pushes_, [&](const Push& push) { return push.id() == id; });
    counts_[id.worker - first_worker_] -= static_cast<std::uint32_t>(removed);
  }
  Push take(std::vector<Push>::const_iterator push) {
    const auto place = pushes_.begin() + (push - pushes_.cbegin());
    Push result = std::move(*place);
    --counts_[result.worker - first_worker_];
    pushes_.erase(place);
    return result;
  }
  // The pushes that a policy has chosen, in worker order. Throws std::logic_error for an impossible decision.
  WeighedPushes take(const Decision& decision);
  std::vector<Push> take_all() {
    for (const Push& push : pushes_) counts_[push.worker - first_worker_] = 0;
    return std::exchange(pushes_, {});
  }

 private:
  void check_order(const std::vector<bool>& is_chosen) const;

  NodeId first_worker_;
  std::vector<Push> pushes_;
  std::vector<std::uint32_t> counts_;  // by worker's number
};

}  // namespace psim

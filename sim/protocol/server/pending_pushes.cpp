#include "sim/protocol/server/pending_pushes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace psim {

// The chosen pushes in worker order.
WeighedPushes PendingPushes::take(const Decision& decision) {
  std::vector<std::pair<PushId, double>> chosen;
  std::vector<bool> is_chosen(pushes_.size());
  for (const Decision::Share& share : decision.shares) {
    if (share.push >= pushes_.size() || is_chosen[share.push])
      throw std::logic_error("a consistency policy applies a push twice, or one that does not wait");
    if (!(std::isfinite(share.weight) && share.weight >= 0))
      throw std::logic_error("a consistency policy gives a push a weight that is below 0 or not a number");
    is_chosen[share.push] = true;
    chosen.emplace_back(pushes_[share.push].id(), share.weight);
  }
  check_order(is_chosen);
  std::ranges::sort(chosen);
  WeighedPushes result;
  for (const auto& [id, weight] : chosen) {
    result.pushes.push_back(take(std::ranges::find(pushes_, id, &Push::id)));
    result.weights.push_back(weight);
  }
  if (std::ranges::all_of(result.weights, [](double weight) { return weight == 1; })) result.weights.clear();
  return result;
}

// Copies, and servers that take over, count the pushes of a worker: a push may not be applied before an
// earlier push.
void PendingPushes::check_order(const std::vector<bool>& is_chosen) const {
  if (std::ranges::find(is_chosen, false) == is_chosen.end()) return;
  std::map<NodeId, std::int64_t> first_left;
  for (std::size_t i = 0; i < is_chosen.size(); ++i) {
    const Push& push = pushes_[i];
    if (is_chosen[i]) continue;
    const auto [least, is_new] = first_left.try_emplace(push.worker, push.number);
    if (!is_new) least->second = std::min(least->second, push.number);
  }
  for (std::size_t i = 0; i < is_chosen.size(); ++i) {
    const auto left = first_left.find(pushes_[i].worker);
    if (is_chosen[i] && left != first_left.end() && pushes_[i].number > left->second)
      throw std::logic_error("a consistency policy applies a push before an earlier one of its worker");
  }
}

}  // namespace psim

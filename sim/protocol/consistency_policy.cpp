#include "sim/protocol/consistency_policy.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <stdexcept>

namespace psim {

PolicyShape PlainModel::shape() const {
  if (shape_) return *shape_;
  PolicyShape shape{.gate = gate_, .varies = varies()};
  // Ages are whole numbers, so the first ages show how the answers go on.
  std::int64_t oldest = most_ages;
  while (oldest > 0 && is_too_late(oldest)) --oldest;
  shape.drops_stale = oldest == 0;
  if (oldest > 0 && oldest < most_ages) shape.oldest = oldest;
  std::int64_t pushes = 1;
  while (pushes <= most_of_worker() * workers_ && !makes_update(evenly(pushes, workers_))) ++pushes;
  if (pushes > most_of_worker() * workers_)
    throw std::logic_error("a consistency model makes no update of the pushes of all workers");
  shape.group = std::min(pushes, workers_);
  shape.varies = shape.varies || pushes > workers_;
  // Even with a group of one, servers may disagree about which push came first, as in k-sync.
  shape.is_in_turn = shape.group == 1 && !shape.varies && gate_ != Gate::version;
  return *(shape_ = shape);
}

PlainModel::Update PlainModel::evenly(std::int64_t pushes, std::int64_t members) {
  const bool all = pushes >= members && members > 0;
  return {.pushes = pushes,
          .members = members,
          .distinct = std::min(pushes, members),
          .least = all ? pushes / members : 0,
          .harmonic = all ? static_cast<double>(pushes) / static_cast<double>(members) : 0};
}

PlainModel::Update PlainModel::update_of(const ShardView& view) {
  std::map<NodeId, std::int64_t> own;  // pushes, by member
  for (const Push& push : view.pending) {
    if (!view.clocks[view.worker_of(push)].gone) ++own[push.worker];
  }
  Update update{.pushes = std::ssize(view.pending),
                .members = view.clocks.members(),
                .version = view.version,
                .min_clock = view.clocks.slowest(),
                .distinct = std::ssize(own)};
  if (update.distinct < update.members || own.empty()) return update;
  update.least = std::ranges::min(own | std::views::values);
  double inverse = 0;
  for (const auto& [worker, pushes] : own) inverse += 1 / static_cast<double>(pushes);
  update.harmonic = static_cast<double>(update.members) / inverse;
  return update;
}

Decision PlainModel::on_push(const ShardView& view, Memory memory) const {
  const bool drops = view.came && !shape().drops_stale && is_too_late(view.age_of(view.pending[*view.came]));
  if (drops) return Decision::drop();
  const bool updates = !view.pending.empty() && makes_update(update_of(view));
  return updates ? on_timer(view, memory) : Decision::hold();
}

namespace {

// Each weight over their mean. The weight of a push by its samples, which the shard applies, is taken out.
void make_whole(std::vector<Decision::Share>& shares, const std::vector<Push>& pending) {
  double weights = 0, samples = 0;
  for (const Decision::Share& share : shares) {
    weights += share.weight;
    samples += static_cast<double>(pending[share.push].samples);
  }
  if (weights == 0) return;
  for (Decision::Share& share : shares) {
    const auto own = static_cast<double>(pending[share.push].samples);
    share.weight = share.weight * samples / (weights * own);
  }
}

}  // namespace

// A push may have aged while it waited. Where only fresh pushes count, pushes of a shard that was set back
// count as fresh.
Decision PlainModel::on_timer(const ShardView& view, Memory) const {
  std::vector<Decision::Share> shares;
  for (std::size_t i = 0; i < view.pending.size(); ++i) {
    const std::int64_t age = shape().drops_stale ? 0 : view.age_of(view.pending[i]);
    shares.push_back({.push = i, .weight = is_too_late(age) ? 0 : weight_of(view.pending[i], age)});
  }
  if (is_whole_weight()) make_whole(shares, view.pending);
  return Decision::apply(std::move(shares));
}

}  // namespace psim

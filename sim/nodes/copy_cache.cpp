#include "sim/nodes/copy_cache.hpp"

#include <utility>

namespace psim {

CopyCache::CopyCache(const JobPlan& plan) : plan_(plan) {
  if (!plan.scenario.consistency.cache || !plan.rule.has_bound()) return;
  for (const Shard& shard : plan.keys.shards) copies_.push_back({.rule = plan.rule_of(shard)});
}

bool CopyCache::does(std::uint32_t shard, std::int64_t clock) const {
  if (!is_on() || clock >= plan_.steps) return false;
  const auto& [rule, has] = copies_[shard];
  return has && *has >= clock - rule.staleness_at(clock);
}

Slice CopyCache::with_own_push(const Shard& shard, const Slice& weights,
                               const std::shared_ptr<Values>& gradient, std::int64_t clock,
                               std::int64_t samples) const {
  if (!gradient || !weights.values) return weights;
  const ConsistencyRule& rule = plan_.rule;
  const double share = rule.push_weight(1) * rule.rate_factor(1) * static_cast<double>(samples) /
                       static_cast<double>(plan_.scenario.training.batch_size);
  const double rate = plan_.learning_rate().at(plan_.epochs().after(static_cast<double>(clock))) * share;
  const Slice part = JobPlan::part_of(shard, gradient);
  Values own = Values::copy_of(*weights.values, weights.begin, weights.count);
  with_scalar(own.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto to = own.as<Scalar>();
    const auto from = part.as<Scalar>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] -= static_cast<Scalar>(rate) * from[i];
  });
  return {std::make_shared<Values>(std::move(own)), 0, weights.count, weights.version};
}

}  // namespace psim

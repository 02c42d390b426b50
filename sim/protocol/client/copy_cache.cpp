#include "sim/protocol/client/copy_cache.hpp"

#include <memory>

namespace psim {

void CopyCache::cut(std::uint32_t shard) {
  if (!is_on()) return;
  options_.bounds.push_back(StalenessBound(options_.bounds[shard]));
  clocks_.push_back(std::optional<std::int64_t>(clocks_[shard]));
}

bool CopyCache::does(std::uint32_t shard, std::int64_t clock) const {
  if (!is_on() || clock >= options_.steps) return false;
  const std::optional<std::int64_t>& has = clocks_[shard];
  return has && *has >= clock - options_.bounds[shard].at(clock);
}

Slice CopyCache::with_own_push(const Slice& weights, const Slice& gradient, std::int64_t clock,
                               std::int64_t samples) const {
  if (!gradient.values || !weights.values) return weights;
  const double share =
      options_.share * static_cast<double>(samples) / static_cast<double>(options_.batch_size);
  const double rate = options_.learning_rate.at(options_.epochs.after(static_cast<double>(clock))) * share;
  Values own = Values::copy_of(*weights.values, weights.begin, weights.count);
  with_scalar(own.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto to = own.as<Scalar>();
    const auto from = gradient.as<Scalar>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] -= static_cast<Scalar>(rate) * from[i];
  });
  return {std::make_shared<Values>(std::move(own)), 0, weights.count, weights.version};
}

}  // namespace psim

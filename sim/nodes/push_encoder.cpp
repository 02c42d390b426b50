#include "sim/nodes/push_encoder.hpp"

#include <algorithm>
#include <utility>

#include "sim/nodes/processor.hpp"

namespace psim {

PushEncoder::PushEncoder(JobContext& job, NodeId node) : job_(job), node_(node), keys_(&job.plan.keys) {
  const auto shards = static_cast<std::uint32_t>(job.plan.keys.shards.size());
  for (std::uint32_t s = 0; s < shards; ++s) {
    if (auto chain = job.make_chain(s, keys_->shards[s], node, true)) filters_.push_back(std::move(chain));
  }
  const auto needs_weights = [](const FilterSpec& filter) { return filter.kind->needs_weights; };
  if (std::ranges::any_of(job.plan.scenario.filters, needs_weights)) last_weights_.resize(shards);
}

void PushEncoder::cut(const Cut& cut, const KeySpace& keys) {
  keys_ = &keys;
  const auto upper = static_cast<std::uint32_t>(std::max(filters_.size(), last_weights_.size()));
  if (!filters_.empty())
    filters_.push_back(
        filters_[cut.shard]->cut(cut.at, job_.chain_of(upper, keys.shards[upper], node_, true)));
  if (last_weights_.empty()) return;
  const Slice whole = last_weights_[cut.shard];
  const std::size_t below = std::min(cut.at, whole.count);
  last_weights_[cut.shard] = psim::part_of(whole, {0, below});
  last_weights_.push_back(psim::part_of(whole, {below, whole.count - below}));
}

// The batch's keys in one block of features are consecutive, and so are each shard's keys among them.
PushEncoder::Content PushEncoder::part_of(std::uint32_t s, const std::shared_ptr<Values>& gradient,
                                          const BatchKeys* batch, KeyRange block) const {
  const Slice weights = last_weights_.empty() ? Slice{} : last_weights_[s];
  if (batch == nullptr) return {JobPlan::part_of(keys_->shards[s], gradient), nullptr, weights};
  const std::vector<std::uint32_t>& keys = batch->keys;
  const auto first = static_cast<std::size_t>(std::ranges::lower_bound(keys, block.begin) - keys.begin());
  const auto last = static_cast<std::size_t>(std::ranges::lower_bound(keys, block.end) - keys.begin());
  const std::size_t all = batch->local[s]->size();
  std::size_t skipped = 0;  // the shard's keys before the block
  std::vector<Range> pieces;
  std::size_t count = 0;
  for (const Range& place : batch->places[s]) {
    const std::size_t begin = std::clamp(first, place.begin, place.begin + place.count);
    const std::size_t end = std::clamp(last, begin, place.begin + place.count);
    skipped += begin - place.begin;
    if (begin < end) pieces.push_back({begin, end - begin});
    count += end - begin;
  }
  Slice values{std::make_shared<Values>(job_.plan.precision(), 0), 0, 0};
  if (pieces.size() == 1) values = {gradient, pieces[0].begin, count};
  if (pieces.size() > 1) values = {gathered(*gradient, pieces, count), 0, count};
  SharedKeys local = batch->local[s];
  if (count < all) {
    const auto begin = local->begin() + static_cast<std::ptrdiff_t>(skipped);
    local =
        std::make_shared<const std::vector<std::uint32_t>>(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  Slice base = weights;
  if (base.values) base = {base.values, base.begin + skipped, count};
  return {std::move(values), std::move(local), std::move(base)};
}

Encoded PushEncoder::encode(std::uint32_t s, const std::shared_ptr<Values>& gradient, const BatchKeys* batch,
                            KeyRange block) {
  Content part = part_of(s, gradient, batch, block);
  FilterChain* filters = filters_.empty() ? nullptr : filters_[s].get();
  if (filters == nullptr)
    return FilterChain::plain(part.values, part.keys, job_.plan.precision(),
                              job_.plan.scenario.messages.key_bytes());
  Encoded encoded =
      filters->encode(part.values, part.keys, part.weights, job_.plan.scenario.training.optimizer.l1);
  if (encoded.flops > 0) {
    job_.record(node_, Computation{.work = Work::filter});
    compute(job_, node_, encoded.flops);
    job_.record(node_, Computation{.phase = ComputePhase::ended, .work = Work::filter});
  }
  return encoded;
}

}  // namespace psim

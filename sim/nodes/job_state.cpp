#include "sim/nodes/job_state.hpp"

#include <utility>

namespace psim {

void JobState::hear(const View& view) {
  if (view.layout == layout) return;
  const std::size_t planned = view.owners.size() - view.cuts.size();
  while (last_weights.size() < view.owners.size()) {
    const auto upper = static_cast<std::uint32_t>(last_weights.size());
    const auto [lower, at] = view.cuts[upper - planned];
    Last above = last_weights[lower];
    if (Slice& below = last_weights[lower].weights; below.count > 0) {
      above.weights = part_of(below, {at, below.count - at});
      below = part_of(below, {0, at});
    }
    last_weights.push_back(std::move(above));
    if (const auto snapshot = snapshots.find(lower); snapshot != snapshots.end())
      snapshots.insert_or_assign(upper, Snapshot(snapshot->second));
  }
  if (layout) layouts_before.push_back(layout);
  layout = view.layout;
}

void JobState::was_last(const KeySpace& keys, const Part& part, std::uint32_t epoch, const Slice& weights) {
  for (std::uint32_t s = 0; s < keys.shards.size(); ++s) {
    const Part& one = keys.shards[s].part;
    Last& last = last_weights[s];
    if (part.covers(one) && epoch >= last.epoch) last = {epoch, part_of(weights, part.place_of(one))};
  }
}

}  // namespace psim

#include "sim/protocol/client/pulled_weights.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace psim {

std::vector<Slice> PulledWeights::take(const std::function<bool(std::uint32_t)>& stays) {
  std::vector<Slice> taken = std::exchange(slices_, {});
  taken.resize(shards_);
  for (std::uint32_t s = 0; s < shards_; ++s) {
    if (stays(s)) of(s) = taken[s];
  }
  return taken;
}

bool PulledWeights::cut(const Cut& cut) {
  ++shards_;
  std::optional<std::size_t> keys_below;
  if (batch_) {
    BatchKeys parts = *batch_;
    SharedKeys& lower = parts.local[cut.shard];
    SharedKeys upper;
    std::tie(lower, upper) = split(lower, cut.at);
    keys_below = lower->size();
    parts.local.push_back(std::move(upper));
    batch_ = std::make_shared<const BatchKeys>(std::move(parts));
  }
  if (slices_.empty()) return true;
  Slice& lower = slices_[cut.shard];
  const bool is_known =
      !keys_below || lower.count == 0 || lower.count == *keys_below + batch_->local.back()->size();
  if (!is_known) lower = {};
  const std::size_t below = std::min(keys_below.value_or(cut.at), lower.count);
  Slice upper = part_of(lower, {below, lower.count - below});
  lower = part_of(lower, {0, below});
  slices_.push_back(std::move(upper));
  return is_known;
}

}  // namespace psim

#include "sim/protocol/buckets.hpp"

#include <algorithm>

namespace psim {

std::vector<Bucket> cut_in_buckets(const std::vector<ParameterArray>& arrays, std::size_t slice,
                                   std::size_t most) {
  std::vector<Bucket> buckets;
  const auto add = [&](Range range, std::uint32_t layer) {
    Bucket* last = buckets.empty() ? nullptr : &buckets.back();
    const bool fits = last != nullptr && last->range.count + range.count <= most;
    if (!fits) return buckets.push_back({range, layer});
    last->range = {range.begin, last->range.count + range.count};
    last->layer = std::min(last->layer, layer);
  };
  for (std::size_t a = arrays.size(); a-- > 0;) {
    const Range& whole = arrays[a].range;
    const std::size_t length = slice > 0 ? slice : std::max<std::size_t>(whole.count, 1);
    for (std::size_t end = whole.count; end > 0;) {
      const std::size_t begin = (end - 1) / length * length;
      add({whole.begin + begin, end - begin}, arrays[a].layer);
      end = begin;
    }
  }
  return buckets;
}

}  // namespace psim

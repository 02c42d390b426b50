#include "sim/protocol/part.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {
namespace {

// The positions of a list from number `first` on, counted from `begin`.
SharedKeys rest_of(const std::vector<std::uint32_t>& keys, std::size_t first, std::size_t begin) {
  std::vector<std::uint32_t> rest(keys.begin() + static_cast<std::ptrdiff_t>(first), keys.end());
  for (std::uint32_t& key : rest) key -= static_cast<std::uint32_t>(begin);
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(rest));
}

}  // namespace

std::pair<SharedKeys, SharedKeys> split(const SharedKeys& keys, std::size_t at) {
  if (!keys) return {};
  const auto end = std::ranges::lower_bound(*keys, at);
  return {std::make_shared<const std::vector<std::uint32_t>>(keys->begin(), end),
          rest_of(*keys, static_cast<std::size_t>(end - keys->begin()), at)};
}

std::pair<Payload, Payload> split(const Payload& given, std::size_t at) {
  Payload whole = given;
  whole.list_keys();  // the receiver has no key lists of the parts
  const std::size_t all = whole.values.count;
  auto [lower_keys, upper_keys] = split(whole.keys, at);
  const std::size_t below = lower_keys ? lower_keys->size() : std::min(at, all);
  const auto bytes_of = [&](std::size_t values) {
    return all == 0 ? 0 : (whole.bytes * values + all - 1) / all;
  };
  return {{part_of(whole.values, {0, below}), std::move(lower_keys), bytes_of(below)},
          {part_of(whole.values, {below, all - below}), std::move(upper_keys), bytes_of(all - below)}};
}

std::vector<std::pair<std::int64_t, std::int64_t>> sizes_when_cut(const std::vector<Cut>& cuts,
                                                                  std::vector<std::int64_t> sizes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts(cuts.size());
  for (std::size_t i = cuts.size(); i-- > 0;) {  // back to the sizes before each cut
    std::int64_t& lower = sizes[cuts[i].shard];
    parts[i] = {lower, sizes.back()};
    lower += sizes.back();
    sizes.pop_back();
  }
  return parts;
}

}  // namespace psim

#include "sim/protocol/server/range_clock.hpp"

#include <algorithm>

namespace psim {

std::int64_t RangeClock::least(Range range, std::size_t worker) const {
  const std::size_t end = range.begin + range.count;
  auto part = std::prev(std::ranges::upper_bound(parts_, range.begin, {}, &ClockedRange::begin));
  std::int64_t result = part->clocks[worker];
  while (++part != parts_.end() && part->begin < end) result = std::min(result, part->clocks[worker]);
  return result;
}

RangeClock RangeClock::part(Range range) const {
  RangeClock result(range.count, parts_.front().clocks.size());
  result.parts_.clear();
  auto first = std::prev(std::ranges::upper_bound(parts_, range.begin, {}, &ClockedRange::begin));
  for (auto one = first; one != parts_.end() && one->begin < range.begin + range.count; ++one)
    result.parts_.push_back({std::max(one->begin, range.begin) - range.begin, one->clocks});
  return result;
}

// The number of the range that begins with `key`; splits a range if necessary.
std::size_t RangeClock::cut(std::size_t key) {
  const auto next = std::ranges::lower_bound(parts_, key, {}, &ClockedRange::begin);
  const auto number = static_cast<std::size_t>(next - parts_.begin());
  const bool is_there = next == parts_.end() ? key == keys_ : next->begin == key;
  if (!is_there) parts_.insert(next, ClockedRange{key, parts_[number - 1].clocks});
  return number;
}

// Keys with equal clocks have received the same pushes, so one clock is enough for them. Without merging, a
// range that was set once would stay separate for ever, even if later sets cover its neighbours as well.
std::size_t RangeClock::set(Range range, std::size_t worker, std::int64_t clock) {
  if (!is_new(range, worker, clock)) return 0;
  const std::size_t before = parts_.size();
  const std::size_t first = cut(range.begin), last = cut(range.begin + range.count);
  const std::size_t split_off = parts_.size() - before;
  for (std::size_t i = first; i < last; ++i)
    parts_[i].clocks[worker] = std::max(parts_[i].clocks[worker], clock);
  for (std::size_t i = std::min(last + 1, parts_.size()); i-- > std::max<std::size_t>(first, 1);) {
    if (parts_[i].clocks == parts_[i - 1].clocks)
      parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return split_off;
}

}  // namespace psim

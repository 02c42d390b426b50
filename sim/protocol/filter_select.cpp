#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "model/mutant.hpp"
#include "sim/protocol/filter_parts.hpp"

namespace psim {

std::size_t share_of(double fraction, std::size_t count) {
  const auto share = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(count)));
  return std::min(count, std::max<std::size_t>(share, mutant("nothing-may-be-left") ? 0 : 1));
}

// Of equal magnitudes the first stay. Not-a-number counts as largest: a run that diverges should show it.
template <class Scalar>
void keep_largest(std::span<const Scalar> values, std::size_t k, FilterBuffers& buffers) {
  const auto magnitude = [&values](std::size_t i) {
    const double x = std::abs(static_cast<double>(values[i]));
    return std::isnan(x) ? std::numeric_limits<double>::infinity() : x;
  };
  std::vector<double>& sorted = buffers.magnitudes;
  sorted.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) sorted[i] = magnitude(i);
  if (k == 0) return buffers.kept.clear();
  const auto least = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::ranges::nth_element(sorted, least, std::greater{});
  const double bound = *least;
  std::size_t ties = k - static_cast<std::size_t>(
                             std::count_if(sorted.begin(), least, [bound](double x) { return x > bound; }));
  keep_where(
      values.size(),
      [&](std::size_t i) {
        const double x = magnitude(i);
        return x > bound || (x == bound && ties > 0 && ties-- > 0);
      },
      buffers.kept);
}

template void keep_largest(std::span<const float>, std::size_t, FilterBuffers&);
template void keep_largest(std::span<const double>, std::size_t, FilterBuffers&);

// The first k of a random order (Fisher-Yates, stopped after k).
void keep_random(std::size_t count, std::size_t k, Stream stream, std::vector<std::uint32_t>& kept) {
  kept.resize(count);
  std::iota(kept.begin(), kept.end(), 0U);
  for (std::size_t i = 0; i < k; ++i) std::swap(kept[i], kept[i + stream.below(count - i)]);
  kept.resize(k);
  std::ranges::sort(kept);
}

}  // namespace psim

// What chains of filters are made of: which values stay, and how they are written down.
#pragma once

#include "sim/protocol/filter.hpp"

namespace psim {

// Each writes the places of the values that stay into `kept`, rising.
template <class Scalar>
void keep_largest(std::span<const Scalar> values, std::size_t k, FilterBuffers& buffers);
void keep_random(std::size_t count, std::size_t k, Stream stream, std::vector<std::uint32_t>& kept);
template <class Predicate>
void keep_where(std::size_t count, Predicate&& stays, std::vector<std::uint32_t>& kept) {
  kept.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (stays(i)) kept.push_back(static_cast<std::uint32_t>(i));
  }
}

// How many values a share is: at least one of any.
std::size_t share_of(double fraction, std::size_t count);

// Writes `values` down as the filter does, and reads them back in their place.
template <class Scalar>
void quantize(const FilterSpec& filter, std::span<Scalar> values, Stream stream,
              std::vector<std::byte>& coded);

// The bytes of `count` values so written down.
std::size_t coded_bytes(const FilterSpec& filter, std::size_t count);

}  // namespace psim

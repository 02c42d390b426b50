// Chains of filters, driven by hand.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/base/random.hpp"
#include "sim/protocol/filter.hpp"

namespace psim::filter_test {

template <class Scalar>
Slice slice_of(const std::vector<Scalar>& numbers) {
  Values values(sizeof(Scalar) == 4 ? Precision::float32 : Precision::float64, numbers.size());
  std::copy(numbers.begin(), numbers.end(), values.as<Scalar>().begin());
  return {std::make_shared<const Values>(std::move(values)), 0, numbers.size()};
}

inline Slice phantom(std::size_t count) { return {nullptr, 0, count}; }

inline SharedKeys keys_of(std::vector<std::uint32_t> keys) {
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(keys));
}

template <class Scalar>
std::vector<Scalar> numbers_of(const Slice& slice) {
  const auto span = slice.as<Scalar>();
  return {span.begin(), span.end()};
}

inline std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed, double scale = 1) {
  Stream stream(seed, "test");
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(scale * stream.normal());
  return numbers;
}

inline FilterChain chain_of(std::vector<FilterSpec> filters, std::size_t count, bool push = true,
                            std::size_t key_bytes = 0, Precision precision = Precision::float32) {
  return FilterChain({.filters = std::move(filters),
                      .precision = precision,
                      .count = count,
                      .key_bytes = {key_bytes},
                      .seed = 1,
                      .sender = 9,
                      .receiver = 1,
                      .push = push});
}

}  // namespace psim::filter_test

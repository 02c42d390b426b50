// Series with a known memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "model/base/random.hpp"

namespace psim::test {

// An autoregression of order 1 with standard deviation 1.
inline std::vector<double> ar1(std::size_t steps, double r, std::uint64_t seed) {
  Stream stream(seed, "test");
  std::vector<double> series;
  double level = stream.normal();
  for (std::size_t i = 0; i < steps; ++i) {
    series.push_back(level);
    level = r * level + std::sqrt(1 - r * r) * stream.normal();
  }
  return series;
}

}  // namespace psim::test

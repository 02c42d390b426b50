#include "analysis/render/ticks.hpp"

#include <cmath>

namespace psim::analysis {

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> all;
  if (!(low < high) || count < 1) return {low};
  const double raw = (high - low) / count, power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; ++n)
    all.push_back(n * step + 0.0);  // not -0
  return all;
}

}  // namespace psim::analysis

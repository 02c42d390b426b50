// The marks of an axis.
#pragma once

#include <vector>

namespace psim::analysis {

// About `count` round numbers within [low, high], ascending.
std::vector<double> ticks(double low, double high, int count);

}  // namespace psim::analysis

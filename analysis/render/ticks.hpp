// Where an axis has its marks.
#pragma once

#include <vector>

namespace psim::analysis {

// Round numbers within [low, high], about `count` of them, rising.
std::vector<double> ticks(double low, double high, int count);

}  // namespace psim::analysis

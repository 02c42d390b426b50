// The smallest scenario that still shows what a larger one shows.
#pragma once

#include <functional>

#include "sim/fuzz/draft.hpp"

namespace psim::fuzz {

// Takes away faults, then other tables, then single fields, and makes counts smaller, one at a time and over
// again until nothing more can go: `shows` holds for the result as it does for `draft`, and for no draft that
// is one step smaller. It is asked about no draft twice.
Draft shrink(Draft draft, const std::function<bool(const Draft&)>& shows);

}  // namespace psim::fuzz

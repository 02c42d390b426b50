// Finds the smallest scenario that shows the same error as a larger scenario.
#pragma once

#include <functional>

#include "sim/fuzz/draft.hpp"

namespace psim::fuzz {

// Removes faults, then other tables, then single fields, and reduces counts, one change at a time, until no
// change is possible. `shows` holds for `draft` and for the result, but for no draft that is one step
// smaller. It is called at most once for each draft.
Draft shrink(Draft draft, const std::function<bool(const Draft&)>& shows);

}  // namespace psim::fuzz

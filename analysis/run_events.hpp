// Reads the events of a run from its tables, in order.
#pragma once

#include <cstdint>
#include <functional>

#include "analysis/run_record.hpp"

namespace psim::analysis {

// Calls `on_row` with every event of the run, in order. Returns the number of events. Throws Unverifiable at
// an event that is impossible in this scenario.
std::int64_t each_event(const RunRecord& run, const std::function<void(const Row&)>& on_row);

}  // namespace psim::analysis

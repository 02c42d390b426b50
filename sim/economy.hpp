// What a run costs: joules and dollars, by role, up to a date.
#pragma once

#include <deque>

#include "sim/nodes/job_context.hpp"
#include "sim/record/result.hpp"

namespace psim {

// P = idle + load * (full - idle), with load 1 while a node computes or copies; dollars by the hour in which
// it is on. `usages`: of the run's jobs, whose computations on a node follow each other.
Economy economy_until(const Scenario& scenario, const std::vector<const NodeUsage*>& usages,
                      std::uint64_t bytes, double date);

}  // namespace psim

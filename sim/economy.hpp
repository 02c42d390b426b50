// The energy (joules) and the money (dollars) that each role costs until a date.
#pragma once

#include <deque>

#include "sim/nodes/job_context.hpp"
#include "sim/record/result.hpp"

namespace psim {

// P = idle + load * (full - idle), where the load is 1 while a node computes or copies. A node costs dollars
// for the hours in which it is on. `usages`: those of the run's jobs. On one node the computations of
// different jobs follow each other.
Economy economy_until(const Scenario& scenario, const std::vector<const NodeUsage*>& usages,
                      std::uint64_t bytes, double date);

}  // namespace psim

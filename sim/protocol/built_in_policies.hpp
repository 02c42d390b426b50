// The logic of psim's own consistency models.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/protocol/consistency_policy.hpp"

namespace psim {

// How many clocks a worker may be ahead of the slowest one.
struct StalenessBound {
  std::int64_t staleness = 0;
  std::vector<std::vector<double>> schedule = {};  // rows (clock, s): from that clock on
  std::int64_t most = 0;                           // dssp: the largest bound that it may choose

  std::int64_t at(std::int64_t clock) const;
};

// An update is made as soon as `shape.group` pushes have arrived. bsp, asp, and all models with a k.
std::shared_ptr<const ConsistencyPolicy> counting_policy(const PolicyShape& shape);
// Like counting_policy, but no worker may be further ahead than the bound. ssp.
std::shared_ptr<const ConsistencyPolicy> bounded_policy(const PolicyShape& shape, StalenessBound bound);
// Like bounded_policy, with bounds between bound.staleness and bound.most. dssp.
std::shared_ptr<const ConsistencyPolicy> dynamic_policy(PolicyShape shape, StalenessBound bound,
                                                        std::int64_t workers);

// An update is made only when a task says so. tasks.
std::shared_ptr<const ConsistencyPolicy> told_policy();

}  // namespace psim

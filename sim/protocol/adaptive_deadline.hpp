// A deadline of updates that follows the workers' speed: the median arrival of pushes, counted from the
// update before, plus some median absolute deviations. Both numbers do not notice a few stragglers.
//
// Decisions:
// - The arrivals of the last ten updates count. Of an update with more pushes than workers, the first pushes
//   count. The first three updates have no deadline.
// - The arrivals are in the policy's memory, so a new owner of the shard has them.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/protocol/consistency_policy.hpp"

namespace psim {

// `policy` with this deadline; `deviations`: how many of them.
std::shared_ptr<const ConsistencyPolicy> with_adaptive_deadline(
    std::shared_ptr<const ConsistencyPolicy> policy, double deviations, std::int64_t workers);

}  // namespace psim

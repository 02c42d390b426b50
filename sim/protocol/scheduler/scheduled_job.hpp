// A job as the scheduler sees it.
#pragma once

#include <cstdint>

#include "sim/protocol/scheduler/work_sharing.hpp"

namespace psim {

struct ScheduledJob {
  NodeId first_worker = 1;
  std::uint32_t workers = 1;
  std::uint32_t first_shard = 0, shards = 0;
  bool served = false;  // other nodes read its shards, also after its end
  WorkSharing::Options sharing = {};

  NodeId past_workers() const { return first_worker + workers; }
  bool has(NodeId node) const { return node >= first_worker && node < past_workers(); }
};

}  // namespace psim

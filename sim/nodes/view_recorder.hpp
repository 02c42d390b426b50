// Records a scheduler's views: the places of the shards, and the moves and cuts since the view before.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/scheduler/shard_loads.hpp"
#include "sim/protocol/view.hpp"

namespace psim {

struct JobContext;

class ViewRecorder {
 public:
  // `jobs`: all jobs of the run.
  void record(const std::vector<JobContext*>& jobs, const View& view, const ShardLoads& loads);

 private:
  void record_changes(const std::vector<JobContext*>& jobs, const View& view, const ShardLoads& loads);

  // By shard: its owner, or its next owner, in the last recorded view. A scheduler that comes back may not
  // know that view. Then this still shows how its first view differs from that view.
  std::vector<NodeId> goals_;
};

}  // namespace psim

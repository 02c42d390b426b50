// Records a scheduler's views: where shards are, and what moved or was cut since the view before.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/protocol/scheduler/shard_loads.hpp"
#include "sim/protocol/view.hpp"

namespace psim {

struct JobContext;

class ViewRecorder {
 public:
  // `jobs`: all of the run.
  void record(const std::vector<JobContext*>& jobs, const View& view, const ShardLoads& loads);

 private:
  void record_changes(const std::vector<JobContext*>& jobs, const View& view, const ShardLoads& loads);

  // By shard: where the last view that was recorded has it, or sends it. A scheduler that comes back may not
  // know that view, and its first view differs from it all the same.
  std::vector<NodeId> goals_;
};

}  // namespace psim

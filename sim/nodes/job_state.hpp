// How far a job has come. It belongs to the Job (sim/job.hpp); roles change it as they go.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/nodes/job_plan.hpp"
#include "sim/nodes/node_usage.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/protocol/message.hpp"

namespace psim {

struct JobState {
  JobState(const JobPlan& plan, std::size_t nodes)
      : completed(plan.workers()),
        left_early(plan.workers()),
        taken_out(plan.workers()),
        keys_used(plan.workers()),
        usage(nodes),
        joins(nodes),
        starting(nodes),
        last_weights(plan.keys.shards.size()) {}

  // Of each worker: it has done all its steps; it has left before that, or has not joined yet; the scheduler
  // has taken it out, and not heard of it since.
  std::vector<bool> completed, left_early, taken_out;
  std::uint32_t left = 0;                     // workers that have told the scheduler so
  double last_finish = 0;                     // when a worker was through, or known to be gone for good
  std::atomic<bool> scale_overflows = false;  // see RunResult; threads say so
  bool over = false;                          // the job has ended, although others may go on
  std::int64_t most_updates = 0;              // versions that all shards have had, before any was set back

  std::vector<std::uint64_t> keys_used;   // sparse models: of all steps, by worker
  NodeUsage usage;                        // of workers and servers
  std::vector<bool> joins;                // by node: it has asked to take part, and is not told to start yet
  std::vector<bool> starting;             // by node: it will be up at a date that is planned
  std::shared_ptr<Values> first_weights;  // where workers begin before servers are there

  // The scheduler's newest layout, and those before it, which weights on their way may have; null: the
  // plan's.
  std::shared_ptr<const Layout> layout;
  std::vector<std::shared_ptr<const Layout>> layouts_before;
  void hear(const View& view);
  // By shard of all jobs, in the first job: where the last view that was recorded has it, or sends it. A
  // scheduler that comes back may not know that view, and its first view differs from it all the same.
  std::vector<NodeId> goals;

  // By shard: what its last owner had when it went down, or gave the shard up.
  struct Last {
    std::uint32_t epoch = 0;
    Slice weights = {};
  };
  std::vector<Last> last_weights;
  // `weights` of `part`, for every shard that they are of.
  void was_last(const KeySpace& keys, const Part& part, std::uint32_t epoch, const Slice& weights);
  // By shard: what is on the storage's disk, from the owner of this epoch. A snapshot from before a cut has
  // the values of both parts, and its reader reads those that it asks for.
  struct Snapshot {
    std::uint32_t epoch = 0;
    State state = {};
  };
  std::map<std::uint32_t, Snapshot> snapshots;
  // Without servers, by part of the model and version: those that a restart may still need.
  std::map<std::uint32_t, std::map<std::int64_t, Snapshot>> copies;
  // ... and the version that the newest group to ask goes back to, also if the storage crashes meanwhile.
  struct GoingBack {
    std::uint32_t group = 0;
    std::optional<std::int64_t> version = {};  // none: nobody has asked
  };
  GoingBack going_back;

  // Of each task of the program: how often it was done, how long it took in all from being given out to being
  // done, which workers did it, and what it told last.
  struct TaskUse {
    std::int64_t times = 0;
    double seconds = 0;
    std::vector<std::int64_t> by_worker = {};
    double value = 0;
  };
  std::vector<TaskUse> tasks;

  std::weak_ptr<Assembly> last_assembly;  // of the weights that some worker pulled last
  std::shared_ptr<FilterBuffers> filter_buffers = std::make_shared<FilterBuffers>();

  bool some_completed() const { return std::ranges::find(completed, true) != completed.end(); }
  // Whether each worker has done its steps, has left, or has not joined.
  bool all_through() const {
    for (std::size_t w = 0; w < completed.size(); ++w) {
      if (!completed[w] && !left_early[w]) return false;
    }
    return true;
  }
};

}  // namespace psim

#include "sim/nodes/job_state.hpp"

#include "sim/protocol/task_dag.hpp"

namespace psim {
namespace {

// Without servers: the number of parts of the model in the workers' stored copies.
std::size_t stored_parts(const JobPlan& plan) {
  return plan.scenario.architecture.kind == Architecture::model_parallel ? plan.workers() : 1;
}

}  // namespace

JobState::JobState(const JobPlan& plan, std::size_t nodes)
    : progress(plan.workers(), nodes),
      totals(plan.workers()),
      usage(nodes),
      last_weights(plan.keys.shards.size()),
      disk{.copies = CopySnapshots(stored_parts(plan))},
      tasks(plan.tasks ? plan.tasks->program().size() : 0, plan.workers()) {}

void JobState::hear(const View& view) {
  if (!layouts.take(view)) return;
  const std::size_t planned = view.owners.size() - view.cuts.size();
  while (last_weights.shards() < view.owners.size()) {
    const auto upper = static_cast<std::uint32_t>(last_weights.shards());
    const Cut& cut = view.cuts[upper - planned];
    last_weights.cut(cut);
    disk.shards.cut(cut.shard, upper);
  }
}

}  // namespace psim

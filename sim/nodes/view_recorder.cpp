#include "sim/nodes/view_recorder.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/nodes/job_context.hpp"

namespace psim {
namespace {

bool sends_ranges(const JobContext* job) { return job->plan.scenario.messages.unit == MessageUnit::range; }

// The number of values in each shard of the view.
std::vector<std::int64_t> sizes_of(const std::vector<JobContext*>& jobs, const View& view) {
  std::vector<std::int64_t> sizes;
  const auto add = [&sizes](const KeySpace& keys) {
    for (const Shard& shard : keys.shards) sizes.push_back(static_cast<std::int64_t>(shard.count));
  };
  if (view.layout) add(view.layout->keys);
  else
    for (const JobContext* job : jobs) add(job->plan.keys);
  return sizes;
}

}  // namespace

void ViewRecorder::record(const std::vector<JobContext*>& jobs, const View& view, const ShardLoads& loads) {
  record_changes(jobs, view, loads);
  JobContext& job = *jobs.front();
  for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
    const Owner& owner = view.owners[s];
    if (owner.primary == scheduler_node) continue;
    const auto holds = [&](PlaceRole role, NodeId node) {
      job.record(scheduler_node, ShardPlace{view.number, s, owner.epoch, role, node});
    };
    holds(PlaceRole::owner, owner.primary);
    for (const NodeId node : owner.from) holds(PlaceRole::former, node);
    for (const NodeId node : owner.replicas) holds(PlaceRole::replica, node);
    if (owner.next != scheduler_node) holds(PlaceRole::next, owner.next);
  }
  for (std::uint32_t w = 0; w < view.workers.size(); ++w) {
    if (view.workers[w]) job.record(scheduler_node, Participant{view.number, job.plan.first_worker() + w});
  }
}

// Records the moves and cuts that the placement or the load makes after nodes come and go. Where the parts of
// whole servers move, the recorded places already show this.
void ViewRecorder::record_changes(const std::vector<JobContext*>& jobs, const View& view,
                                  const ShardLoads& loads) {
  JobContext& job = *jobs.front();
  const bool by_load = job.plan.scenario.recovery.rebalance == Rebalance::load;
  if (!by_load && std::ranges::none_of(jobs, sends_ranges)) return;
  const std::size_t planned = view.owners.size() - view.cuts.size();
  const bool is_first = goals_.empty();
  const std::vector<std::int64_t> sizes = sizes_of(jobs, view);
  const auto parts = sizes_when_cut(view.cuts, sizes);
  for (std::size_t n = std::max(goals_.size(), planned); !is_first && n < view.owners.size(); ++n) {
    const Cut& cut = view.cuts[n - planned];
    job.record(scheduler_node, ShardCut{.view = view.number,
                                        .shard = cut.shard,
                                        .part = static_cast<std::uint32_t>(n),
                                        .epoch = view.owners[cut.shard].epoch,
                                        .values = parts[n - planned].first,
                                        .part_values = parts[n - planned].second});
    goals_.push_back(goals_[cut.shard]);
  }
  for (std::uint32_t s = 0; s < view.owners.size(); ++s) {
    const Owner& owner = view.owners[s];
    const NodeId goal = owner.next != 0 ? owner.next : owner.primary;
    if (is_first) goals_.push_back(goal);
    const NodeId before = std::exchange(goals_[s], goal);
    if (before == goal || goal == scheduler_node) continue;  // the latter: its job has ended
    job.record(scheduler_node, ShardMove{.view = view.number,
                                         .shard = s,
                                         .from = before,
                                         .to = goal,
                                         .values = sizes[s],
                                         .load = by_load ? std::optional(loads.rate(s)) : std::nullopt});
  }
}

}  // namespace psim

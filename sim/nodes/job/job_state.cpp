#include "sim/nodes/job/job_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/nodes/job/job_context.hpp"
#include "sim/protocol/task_dag.hpp"

namespace psim {

void LastWeights::keep(const KeySpace& keys, const Part& part, std::uint32_t epoch, const Slice& weights) {
  for (std::uint32_t s = 0; s < keys.shards.size(); ++s) {
    const Part& one = keys.shards[s].part;
    Last& last = shards_[s];
    if (part.covers(one) && epoch >= last.epoch) last = {epoch, part_of(weights, part.place_of(one))};
  }
}

void LastWeights::cut(const Cut& cut) {
  Last above = shards_[cut.shard];
  if (Slice& below = shards_[cut.shard].weights; below.count > 0) {
    above.weights = part_of(below, {cut.at, below.count - cut.at});
    below = part_of(below, {0, cut.at});
  }
  shards_.push_back(std::move(above));
}

const StoredState* ShardSnapshots::find(std::uint32_t shard) const {
  const auto last = snapshots_.find(shard);
  return last == snapshots_.end() ? nullptr : &last->second;
}

void ShardSnapshots::keep(std::uint32_t shard, const StoredState& snapshot) {
  const StoredState* last = find(shard);
  if (last == nullptr || last->epoch <= snapshot.epoch) snapshots_.insert_or_assign(shard, snapshot);
}

void ShardSnapshots::cut(std::uint32_t shard, std::uint32_t upper) {
  if (const StoredState* whole = find(shard)) snapshots_.insert_or_assign(upper, StoredState(*whole));
}

void CopySnapshots::go_back(std::uint32_t group) {
  if (used_ && group <= group_) return;
  group_ = group;
  used_ = newest();
}

const StoredState* CopySnapshots::find(std::uint32_t part) const {
  const auto versions = copies_.find(part);
  if (versions == copies_.end()) return nullptr;
  const auto one = versions->second.find(*used_);
  return one == versions->second.end() ? nullptr : &one->second;
}

void CopySnapshots::keep(std::uint32_t part, const StoredState& copy) {
  copies_[part].insert_or_assign(copy.state.version, copy);
  const std::int64_t whole = newest(), used = used_.value_or(-1);
  for (auto& [number, versions] : copies_)
    std::erase_if(versions, [&](const auto& one) { return one.first < whole && one.first != used; });
}

std::int64_t CopySnapshots::newest() const {
  if (copies_.size() < parts_) return -1;
  const auto& some = copies_.rbegin()->second;
  for (auto one = some.rbegin(); one != some.rend(); ++one) {
    const bool is_whole =
        std::ranges::all_of(copies_, [&](const auto& part) { return part.second.contains(one->first); });
    if (is_whole) return one->first;
  }
  return -1;
}

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

namespace {

// Without servers: the number of parts of the model in the workers' stored copies.
std::size_t stored_parts(const JobPlan& plan) {
  return plan.scenario.architecture.kind == Architecture::model_parallel ? plan.workers() : 1;
}

}  // namespace

StepSeconds::StepSeconds(const Scenario& scenario) {
  for (std::int64_t w = 0; scenario.training.inner.dynamic && w < scenario.cluster.workers; ++w)
    of_worker.push_back(mean_step_seconds(scenario, static_cast<std::size_t>(w)));
}

double StepSeconds::fastest(const JobProgress& progress) const {
  double least = HUGE_VAL;
  for (std::uint32_t w = 0; w < of_worker.size(); ++w) {
    if (!progress.has_left(w) && !progress.is_taken_out(w)) least = std::min(least, of_worker[w]);
  }
  return least;
}

JobState::JobState(const JobPlan& plan, std::size_t nodes)
    : progress(plan.workers(), nodes),
      step_seconds(plan.scenario),
      totals(plan.workers()),
      usage(nodes),
      last_weights(plan.keys.shards.size()),
      disk{.copies = CopySnapshots(stored_parts(plan))},
      tasks(plan.tasks ? plan.tasks->program().size() : 0, plan.workers()),
      corrupt_pushes(plan) {}

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

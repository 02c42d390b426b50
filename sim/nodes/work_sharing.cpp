#include "sim/nodes/work_sharing.hpp"

#include <algorithm>
#include <numeric>

#include "sim/nodes/batch_source.hpp"

namespace psim {
namespace {

Balancer::Options options_of(const JobContext& job) {
  constexpr unsigned decisions_of_a_life = 32;  // as a power of two
  const Scenario& scenario = job.plan.scenario;
  Sizes sizes = first_batch_sizes(job);
  for (const NodeId spare : job.plan.spares)
    sizes[spare - job.plan.first_worker()] = 0;  // nobody's part of a clock
  Balancer::Options options{
      .first = std::move(sizes),
      .smoothing = scenario.training.work_smoothing,
      .in_step = job.plan.rule.waits_for_all(),
      .decisions = std::int64_t{job.network.incarnation(scheduler_node)} << decisions_of_a_life};
  if (!scenario.may_fail()) return options;
  options.patience = scenario.recovery.timeout.value;
  options.longest = std::max(scenario.recovery.patience.value / 2, *options.patience);
  options.begun = Agenda::now();
  return options;
}

}  // namespace

WorkSharing::WorkSharing(JobContext& job) : job_(job), balancer_(options_of(job)) {}

void WorkSharing::on(NodeId from, const Report& report) {
  if (job_.plan.scenario.training.work != WorkPolicy::dynamic || !job_.plan.is_worker(from)) return;
  tell(balancer_.report(from - job_.plan.first_worker(), report.clock, report.seconds_per_sample,
                        report.decision, Agenda::now()));
}

// One that has done its clocks keeps its share, which nobody else has to compute.
void WorkSharing::set_members(const std::vector<bool>& members) {
  if (job_.plan.scenario.training.work != WorkPolicy::dynamic) return;
  const auto first = members.begin() + job_.plan.first_index;  // of the run's workers
  std::vector<bool> all(first, first + job_.plan.workers());
  if (!job_.plan.rule.waits_for_all()) {
    for (std::size_t w = 0; w < all.size(); ++w) all[w] = all[w] || job_.state.completed[w];
  }
  tell(balancer_.set_members(all, Agenda::now()));
}

void WorkSharing::is_new(NodeId worker) {
  if (job_.plan.is_worker(worker)) balancer_.is_new(worker - job_.plan.first_worker());
}

void WorkSharing::decide_overdue(double now) { tell(balancer_.overdue(now)); }

void WorkSharing::tell(const Balancer::Assignments& assignments) {
  for (const Balancer::Assignment& one : assignments) {
    const Sizes& sizes = *one.sizes;
    Assign assign{
        .clock = one.clock,
        .batch_size = sizes[one.worker],
        .samples_before = std::accumulate(sizes.begin(), sizes.begin() + one.worker, std::int64_t{0})};
    if (!job_.plan.rule.waits_for_all()) assign.decision = one.clock;
    if (job_.plan.scenario.may_fail()) assign.sizes = one.sizes;
    job_.network.send(
        {.from = scheduler_node, .to = job_.plan.first_worker() + one.worker, .body = std::move(assign)});
  }
}

}  // namespace psim

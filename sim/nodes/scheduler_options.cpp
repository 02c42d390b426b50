#include "sim/nodes/scheduler_options.hpp"

#include <algorithm>

#include "sim/nodes/batch_source.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

Membership::Rules rules_of(const JobPlan& plan) {
  return {.servers = plan.servers(),
          .workers = static_cast<std::uint32_t>(plan.cluster().workers),
          .copies = plan.scenario.replication.copies,
          .detector = plan.detector(),
          .removes_workers = plan.scenario.recovery.workers != LostWorkers::wait,
          .takes_over = plan.scenario.recovery.servers == LostServers::neighbour,
          .rebalance = plan.scenario.recovery.rebalance,
          .two_phase = plan.scenario.recovery.hand_over == HandOver::two_phase,
          .absent = plan.absent};
}

// All shards of the run, job after job; none without servers. The scheduler cuts shards only in runs of one
// job. So their places in the key space matter only there.
KeySpace keys_of(const std::vector<JobContext*>& jobs) {
  KeySpace all;
  for (const JobContext* job : jobs) {
    const KeySpace& own = job->plan.keys;
    all.parameters += own.parameters;
    all.shards.insert(all.shards.end(), own.shards.begin(), own.shards.end());
  }
  return all;
}

WorkSharing::Options sharing_of(const JobContext& job) {
  constexpr unsigned decisions_of_a_life = 32;  // as a power of two
  const Scenario& scenario = job.plan.scenario;
  WorkSharing::Options options{.dynamic = scenario.training.work == WorkPolicy::dynamic,
                               .first_worker = job.plan.first_worker(),
                               .first_index = job.plan.first_index,
                               .workers = job.plan.workers(),
                               .tells_sizes = scenario.may_fail()};
  Balancer::Options& balancer = options.balancer;
  balancer.first = first_batch_sizes(job);
  for (const NodeId spare : job.plan.spares)
    balancer.first[spare - job.plan.first_worker()] = 0;  // no part of a clock
  balancer.smoothing = scenario.training.work_smoothing;
  balancer.in_step = job.plan.rule.waits_for_all();
  balancer.decisions = std::int64_t{job.network.incarnation(scheduler_node)} << decisions_of_a_life;
  if (!scenario.may_fail()) return options;
  balancer.patience = scenario.recovery.timeout.value;
  balancer.longest = std::max(scenario.recovery.patience.value / 2, *balancer.patience);
  balancer.begun = Agenda::now();
  return options;
}

}  // namespace

std::vector<ScheduledJob> scheduled(const std::vector<JobContext*>& jobs) {
  std::vector<ScheduledJob> result;
  for (const JobContext* job : jobs) {
    const JobPlan& plan = job->plan;
    result.push_back({.first_worker = plan.first_worker(),
                      .workers = plan.workers(),
                      .first_shard = plan.first_shard,
                      .shards = static_cast<std::uint32_t>(plan.keys.shards.size()),
                      .served = plan.served,
                      .sharing = sharing_of(*job)});
  }
  return result;
}

FailureAwareScheduler::Options failure_aware(const std::vector<JobContext*>& jobs) {
  const JobPlan& plan = jobs.front()->plan;
  FailureAwareScheduler::Options options{
      .rules = rules_of(plan),
      .keys = keys_of(jobs),
      .jobs = scheduled(jobs),
      .first_reader = first_inference_node(plan.cluster()),
      .past_readers = node_count(plan.cluster()),
      .restarts_workers = plan.scenario.recovery.workers == LostWorkers::restart,
      .lives = jobs.front()->network.incarnation(scheduler_node)};
  if (const SlowSpec& slow = plan.scenario.recovery.slow; slow.given)
    options.slow = {.first_worker = plan.first_worker(),
                    .workers = plan.workers(),
                    .factor = slow.factor,
                    .window = slow.window,
                    .action = slow.action,
                    .spares = plan.spares};
  return options;
}

}  // namespace psim

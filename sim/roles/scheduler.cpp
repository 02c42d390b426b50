#include "sim/roles/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "sim/protocol/work.hpp"
#include "sim/roles/failure_aware_scheduler.hpp"
#include "sim/roles/task_scheduler.hpp"

namespace psim {
namespace {

// Tells every worker its batch size, and how many samples of a clock the workers before it take.
void assign(JobContext& job, const std::vector<std::int64_t>& sizes, std::int64_t clock) {
  std::int64_t before = 0;
  for (std::uint32_t w = 0; w < job.plan.workers(); before += sizes[w++]) {
    job.network.send({.from = scheduler_node,
                      .to = job.plan.first_worker() + w,
                      .body = Assign{.clock = clock, .batch_size = sizes[w], .samples_before = before}});
  }
}

JobContext& job_of(const std::vector<JobContext*>& jobs, NodeId worker) {
  return **std::ranges::find_if(jobs,
                                [worker](const JobContext* job) { return job->plan.is_worker(worker); });
}

void run_without_failures(const std::vector<JobContext*>& jobs) {
  JobContext& first = *jobs.front();
  std::uint32_t members = first.plan.servers();
  std::vector<Balancer> balancers;
  for (const JobContext* job : jobs) {
    members += job->plan.workers();
    balancers.emplace_back(job->plan.scenario.training.batch_size * job->plan.workers(), job->plan.workers(),
                           job->plan.scenario.training.work_smoothing);
  }
  for (std::uint32_t i = 0; i < members; ++i) first.network.receive(scheduler_node);  // join
  for (NodeId node = 1; node <= members; ++node) {
    first.network.send({.from = scheduler_node, .to = node, .body = Start{}});
  }
  if (first.plan.tasks) TaskScheduler(first).run();
  const auto goes_on = [](const JobContext* job) {
    return !job->state.over && job->state.left < job->plan.workers();
  };
  while (std::ranges::any_of(jobs, goes_on)) {
    const Message message = first.network.receive(scheduler_node);
    JobContext& job = job_of(jobs, message.from);
    if (message.is<Leave>()) {
      if (++job.state.left == job.plan.workers() && !job.state.over) job.observer.on_end();
      continue;
    }
    const Report& report = *message.as<Report>();
    Balancer& balancer = balancers[static_cast<std::size_t>(std::ranges::find(jobs, &job) - jobs.begin())];
    if (const auto sizes = balancer.report(message.from - job.plan.first_worker(), report.seconds_per_sample))
      assign(job, *sizes, report.clock);
  }
}

}  // namespace

void run_scheduler(const std::vector<JobContext*>& jobs) {
  JobContext& job = *jobs.front();
  if (!job.plan.scenario.may_fail()) return run_without_failures(jobs);
  FailureAwareScheduler(jobs).run();
}

}  // namespace psim

#include "sim/nodes/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "sim/nodes/failure_aware_scheduler.hpp"
#include "sim/nodes/task_scheduler.hpp"
#include "sim/nodes/work_sharing.hpp"

namespace psim {
namespace {

JobContext& job_of(const std::vector<JobContext*>& jobs, NodeId worker) {
  return **std::ranges::find_if(jobs,
                                [worker](const JobContext* job) { return job->plan.is_worker(worker); });
}

void run_without_failures(const std::vector<JobContext*>& jobs) {
  JobContext& first = *jobs.front();
  std::uint32_t members = first.plan.servers();
  std::vector<WorkSharing> sharing;
  for (JobContext* job : jobs) {
    members += job->plan.workers();
    sharing.emplace_back(*job);
  }
  for (std::uint32_t i = 0; i < members; ++i)
    first.recorder.course().needs(first.network.receive(scheduler_node).because.event);  // join
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
    job.recorder.course().needs_nothing();
    job.recorder.course().needs(message.because.event);
    if (message.is<Leave>()) {
      if (++job.state.left == job.plan.workers() && !job.state.over) job.observer.on_end();
      continue;
    }
    const auto number = static_cast<std::size_t>(std::ranges::find(jobs, &job) - jobs.begin());
    sharing[number].on(message.from, *message.as<Report>());
  }
}

}  // namespace

void run_scheduler(const std::vector<JobContext*>& jobs) {
  JobContext& job = *jobs.front();
  if (!job.plan.scenario.may_fail()) return run_without_failures(jobs);
  FailureAwareScheduler(jobs).run();
}

}  // namespace psim

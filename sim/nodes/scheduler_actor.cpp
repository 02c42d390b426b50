#include "sim/nodes/scheduler_actor.hpp"

#include <algorithm>
#include <optional>

#include "sim/nodes/scheduler_options.hpp"
#include "sim/nodes/task_scheduler_actor.hpp"
#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"
#include "sim/protocol/scheduler/steady_scheduler.hpp"

namespace psim {
namespace {

class SchedulerPost final : public SchedulerOutbox {
 public:
  explicit SchedulerPost(const std::vector<JobContext*>& jobs) : jobs_(jobs), first_(*jobs.front()) {}

  void send(Message message) override { first_.network.send(std::move(message)); }
  void send_once(Message message) override { first_.network.send_once(std::move(message)); }

  bool is_over(std::size_t job) const override { return progress(job).is_over(); }
  bool some_completed(std::size_t job) const override { return progress(job).some_completed(); }
  bool all_through(std::size_t job) const override { return progress(job).all_through(); }
  bool has_completed(NodeId worker) const override {
    const JobContext& job = job_of(worker);
    return job.state.progress.has_completed(worker - job.plan.first_worker());
  }
  bool awaits(NodeId worker) const override { return job_of(worker).awaits(worker); }

  void ends(std::size_t job) override { jobs_[job]->observer.on_end(); }
  void waits_no_longer(std::size_t job) override { progress(job).wait_no_longer(Agenda::now()); }
  void takes_out(NodeId worker, bool is_out) override {
    JobContext& job = job_of(worker);
    job.state.progress.take_out(worker - job.plan.first_worker(), is_out);
  }
  void suspects(NodeId node, std::int64_t view, const std::optional<Cause>& silence) override {
    first_.record(scheduler_node, Suspicion{node, view}, silence);
  }
  void announces(std::int64_t view) override { first_.record(scheduler_node, ViewChange{view}); }
  void has_new_view(const View& view, const ShardLoads& loads) override {
    first_.state.hear(view);
    first_.state.views.record(jobs_, view, loads);
  }
  void is_slow(NodeId worker, const SlowWorkerPolicy::Verdict& verdict) override {
    first_.record(scheduler_node,
                  SlowWorker{worker, verdict.found.seconds, verdict.found.median, verdict.action});
  }
  void start_spare(NodeId worker) override { first_.observer.start_spare(worker); }

 private:
  JobProgress& progress(std::size_t job) const { return jobs_[job]->state.progress; }
  JobContext& job_of(NodeId worker) const {
    return **std::ranges::find_if(jobs_,
                                  [worker](const JobContext* job) { return job->plan.is_worker(worker); });
  }

  const std::vector<JobContext*>& jobs_;
  JobContext& first_;
};

void run_steadily(const std::vector<JobContext*>& jobs) {
  JobContext& first = *jobs.front();
  SchedulerPost post(jobs);
  SteadyScheduler scheduler(first.plan.servers(), scheduled(jobs), post);
  const auto take = [&] {
    const Message message = first.network.receive(scheduler_node);
    if (scheduler.has_started()) first.recorder.causes().needs_nothing();
    first.recorder.causes().needs(message.because.event);
    scheduler.on(message, Agenda::now());
  };
  while (!scheduler.has_started()) take();
  if (first.plan.tasks) run_tasks(first);
  while (!scheduler.is_over()) take();
}

void run_with_failures(const std::vector<JobContext*>& jobs) {
  JobContext& first = *jobs.front();
  SchedulerPost post(jobs);
  FailureAwareScheduler scheduler(failure_aware(jobs), post, Agenda::now());
  while (!scheduler.is_over()) {
    const std::optional<double> date = scheduler.next_date();
    const std::optional<Message> message =
        date ? first.network.receive_until(scheduler_node, *date) : first.network.receive(scheduler_node);
    if (message && !message->is<Heartbeat>()) first.recorder.causes().needs(message->because.event);
    message ? scheduler.on(*message, Agenda::now()) : scheduler.on_date(Agenda::now());
  }
}

}  // namespace

void run_scheduler(const std::vector<JobContext*>& jobs) {
  jobs.front()->plan.scenario.may_fail() ? run_with_failures(jobs) : run_steadily(jobs);
}

}  // namespace psim

#include "sim/nodes/scheduler/scheduler_actor.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/nodes/worker/batch_source.hpp"
#include "sim/protocol/scheduler/failure_aware_scheduler.hpp"
#include "sim/protocol/scheduler/task_scheduler.hpp"
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

namespace {

TaskScheduler::Options options_of(const JobPlan& plan) {
  return {.first_worker = plan.first_worker(),
          .workers = plan.workers(),
          .first_shard = plan.first_shard,
          .shards = plan.keys.shards,
          .first_server = plan.first_server()};
}

class TaskPost final : public TaskOutbox {
 public:
  explicit TaskPost(JobContext& job) : job_(job), dag_(*job.plan.tasks) {}

  void send(Message message) override { job_.network.send(std::move(message)); }
  void is_given(TaskId task, std::optional<std::uint32_t> worker) override {
    record(TaskPhase::given, task, worker);
  }
  void is_done(TaskId task, const Outcome& outcome) override {
    TaskUse& use = job_.state.tasks[dag_[task].of];
    ++use.times;
    use.seconds += outcome.seconds;
    if (outcome.worker) ++use.by_worker[*outcome.worker];
    if (dag_.task_of(task).kind == TaskKind::norm) use.value = std::sqrt(outcome.value);
    record(TaskPhase::done, task, outcome.worker);
  }

 private:
  void record(TaskPhase phase, TaskId task, std::optional<std::uint32_t> worker) {
    TaskChange change{.phase = phase,
                      .task = static_cast<std::int64_t>(dag_[task].of),
                      .clock = dag_[task].clock,
                      .unit = dag_[task].unit,
                      .does = dag_.task_of(task).kind};
    if (worker) change.worker = job_.plan.first_worker() + *worker;
    job_.record(scheduler_node, change);
  }

  JobContext& job_;
  const TaskDag& dag_;
};

}  // namespace

void run_tasks(JobContext& job) {
  TaskPost post(job);
  TaskScheduler scheduler(options_of(job.plan), *job.plan.tasks, post);
  scheduler.begin(Agenda::now());
  while (!scheduler.is_over()) {
    const Message message = job.network.receive(scheduler_node);
    job.recorder.causes().needs_nothing();  // no dependence on earlier messages
    scheduler.on(message, Agenda::now());
  }
}

}  // namespace psim

#include "sim/nodes/scheduler/task_scheduler_actor.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "sim/protocol/scheduler/task_scheduler.hpp"

namespace psim {
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

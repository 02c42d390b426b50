#include "sim/nodes/task_scheduler.hpp"

#include <algorithm>
#include <cmath>

namespace psim {

TaskScheduler::TaskScheduler(JobContext& job)
    : job_(job), dag_(*job.plan.tasks), progress_(dag_.graph()), open_(job.plan.workers()) {
  job_.state.tasks.resize(dag_.program().size());
  for (JobState::TaskUse& use : job_.state.tasks) use.by_worker.resize(job.plan.workers());
}

void TaskScheduler::run() {
  while (!progress_.is_over()) {
    for (const TaskId task : progress_.take_ready()) give(task);
    give_waiting();
    const Message message = job_.network.receive(scheduler_node);
    job_.recorder.course().needs_nothing();  // of what it did before
    on(message);
  }
  for (std::uint32_t w = 0; w < job_.plan.workers(); ++w)
    job_.network.send({.from = scheduler_node, .to = job_.plan.first_worker() + w, .body = RunTask{}});
}

TaskId TaskScheduler::source_of(TaskId task) const {
  Task source = dag_[task];
  source.of = *psim::source_of(dag_.program(), source.of);
  return dag_.id_of(source);
}

void TaskScheduler::give(TaskId task) {
  const ProgramTask& what = dag_.task_of(task);
  if (is_of_server(what.kind)) return call(task);
  if (takes_result_of(what.kind)) return give_to(task, given_.at(source_of(task)).worker);
  if (what.anywhere) return waiting_.push_back(task);
  give_to(task, what.worker.value_or(static_cast<std::uint32_t>(dag_[task].unit.value_or(0))));
}

void TaskScheduler::give_waiting() {
  while (!waiting_.empty()) {
    const auto free = std::ranges::find(open_, 0);
    if (free == open_.end()) return;
    const TaskId task = waiting_.front();
    waiting_.pop_front();
    give_to(task, free == open_.end() ? 0 : static_cast<std::uint32_t>(free - open_.begin()));
  }
}

void TaskScheduler::give_to(TaskId task, std::uint32_t worker) {
  const ProgramTask& what = dag_.task_of(task);
  given_[task] = {.at = Agenda::now(), .worker = worker};
  ++open_[worker];
  record(TaskPhase::given, task);
  RunTask order{.task = task, .kind = what.kind, .clock = dag_[task].clock};
  if (takes_result_of(what.kind)) order.source = source_of(task);
  if (what.kind == TaskKind::gradient) order.batch = dag_[task].unit.value_or(worker);
  job_.network.send({.from = scheduler_node, .to = job_.plan.first_worker() + worker, .body = order});
}

void TaskScheduler::call(TaskId task) {
  const ProgramTask& what = dag_.task_of(task);
  const std::vector<Shard>& shards = job_.plan.keys.shards;
  Call call{.task = task, .function = what.kind, .amount = what.amount};
  if (what.kind == TaskKind::apply) {
    const Given& push = given_.at(source_of(task));
    call.push = PushId{job_.plan.first_worker() + push.worker, push.push};
  }
  given_[task] = {.at = Agenda::now(), .answers = shards.size()};
  record(TaskPhase::given, task);
  for (std::uint32_t s = 0; s < shards.size(); ++s) {
    call.values = is_about_all_values(what.kind) ? shards[s].count : 0;
    job_.network.send({.from = scheduler_node,
                       .to = job_.plan.server_of(s),
                       .shard = job_.plan.first_shard + s,
                       .body = call});
  }
}

void TaskScheduler::on(const Message& message) {
  if (const TaskDone* news = message.as<TaskDone>()) {
    Given& given = given_.at(news->task);
    given.push = news->pushes - 1;
    --open_[given.worker];
    return done(news->task);
  }
  const Returned& answer = *message.as<Returned>();
  Given& given = given_.at(answer.task);
  given.value += answer.value;
  if (--given.answers == 0) done(answer.task);
}

void TaskScheduler::done(TaskId task) {
  const Given& given = given_.at(task);
  const ProgramTask& what = dag_.task_of(task);
  JobState::TaskUse& use = job_.state.tasks[dag_[task].of];
  ++use.times;
  use.seconds += Agenda::now() - given.at;
  if (!is_of_server(what.kind)) ++use.by_worker[given.worker];
  if (what.kind == TaskKind::norm) use.value = std::sqrt(given.value);
  record(TaskPhase::done, task);
  progress_.done(task);
}

void TaskScheduler::record(TaskPhase phase, TaskId task) {
  const ProgramTask& what = dag_.task_of(task);
  TaskChange change{.phase = phase,
                    .task = static_cast<std::int64_t>(dag_[task].of),
                    .clock = dag_[task].clock,
                    .unit = dag_[task].unit,
                    .does = what.kind};
  if (!is_of_server(what.kind)) change.worker = job_.plan.first_worker() + given_.at(task).worker;
  job_.record(scheduler_node, change);
}

}  // namespace psim

#include "sim/protocol/scheduler/task_scheduler.hpp"

#include <algorithm>
#include <utility>

namespace psim {

TaskScheduler::TaskScheduler(Options options, const TaskDag& dag, TaskOutbox& out)
    : options_(std::move(options)), dag_(dag), out_(out), progress_(dag.graph()), open_(options_.workers) {}

void TaskScheduler::begin(double now) {
  now_ = now;
  give_ready();
}

void TaskScheduler::give_ready() {
  if (is_over()) {
    for (std::uint32_t w = 0; w < options_.workers; ++w) send_to(w, {});
    return;
  }
  for (const TaskId task : progress_.take_ready()) give(task);
  give_waiting();
}

void TaskScheduler::on(const Message& message, double now) {
  now_ = now;
  if (const TaskDone* news = message.as<TaskDone>()) {
    Given& given = given_.at(news->task);
    given.push = news->pushes - 1;
    --open_[*given.worker];
    done(news->task);
  } else {
    const Returned& answer = *message.as<Returned>();
    Given& given = given_.at(answer.task);
    given.value += answer.value;
    if (--given.answers == 0) done(answer.task);
  }
  give_ready();
}

TaskId TaskScheduler::source_of(TaskId task) const {
  Task source = dag_[task];
  source.of = *psim::source_of(dag_.program(), source.of);
  return dag_.id_of(source);
}

void TaskScheduler::give(TaskId task) {
  const ProgramTask& what = dag_.task_of(task);
  if (is_of_server(what.kind)) return call(task);
  if (takes_result_of(what.kind)) return give_to(task, *given_.at(source_of(task)).worker);
  if (what.anywhere) return waiting_.push_back(task);
  give_to(task, what.worker.value_or(static_cast<std::uint32_t>(dag_[task].unit.value_or(0))));
}

void TaskScheduler::give_waiting() {
  while (!waiting_.empty()) {
    const auto free = std::ranges::find(open_, 0);
    if (free == open_.end()) return;
    const TaskId task = waiting_.front();
    waiting_.pop_front();
    give_to(task, static_cast<std::uint32_t>(free - open_.begin()));
  }
}

void TaskScheduler::give_to(TaskId task, std::uint32_t worker) {
  const ProgramTask& what = dag_.task_of(task);
  given_[task] = {.at = now_, .worker = worker};
  ++open_[worker];
  out_.is_given(task, worker);
  RunTask order{.task = task, .kind = what.kind, .clock = dag_[task].clock};
  if (takes_result_of(what.kind)) order.source = source_of(task);
  if (what.kind == TaskKind::gradient) order.batch = dag_[task].unit.value_or(worker);
  send_to(worker, order);
}

void TaskScheduler::call(TaskId task) {
  const ProgramTask& what = dag_.task_of(task);
  const std::vector<Shard>& shards = options_.shards;
  Call call{.task = task, .function = what.kind, .amount = what.amount};
  if (what.kind == TaskKind::apply) {
    const Given& push = given_.at(source_of(task));
    call.push = PushId{options_.first_worker + *push.worker, push.push};
  }
  given_[task] = {.at = now_, .answers = shards.size()};
  out_.is_given(task, {});
  for (std::uint32_t s = 0; s < shards.size(); ++s) {
    call.values = is_about_all_values(what.kind) ? shards[s].count : 0;
    out_.send({.from = scheduler_node,
               .to = options_.first_server + shards[s].server,
               .shard = options_.first_shard + s,
               .body = call});
  }
}

void TaskScheduler::done(TaskId task) {
  const Given& given = given_.at(task);
  out_.is_done(task, {given.worker, now_ - given.at, given.value});
  progress_.done(task);
}

void TaskScheduler::send_to(std::uint32_t worker, RunTask order) {
  out_.send({.from = scheduler_node, .to = options_.first_worker + worker, .body = order});
}

}  // namespace psim

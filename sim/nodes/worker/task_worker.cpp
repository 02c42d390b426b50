#include "sim/nodes/worker/task_worker.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/nodes/job/attendance.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/peers/peers.hpp"
#include "sim/nodes/worker/gradient_task.hpp"
#include "sim/protocol/task_dag.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

TaskWorker::TaskWorker(JobContext& job, NodeId node)
    : job_(job), node_(node), index_(node - job.plan.first_worker()), kv_(job, node), processor_(job, node) {
  kv_.on_other([this](const Message& message) {
    if (const RunTask* order = message.as<RunTask>()) take(*order);
  });
}

void TaskWorker::run(Actors& actors) {
  actors_ = &actors;
  job_.recorder.does_tasks(node_);
  join(job_, node_);
  while (!ends_) {
    kv_.wait_for_message();
    settle();
  }
  job_.state.progress.finish(index_, true, Agenda::now());
  job_.record(node_, Finish{.clock = job_.plan.steps});
  leave(job_, node_);
}

void TaskWorker::take(const RunTask& order) {
  if (!order.task) ends_ = true;
  else if (order.kind == TaskKind::pull) to_pull_.push_back(order);
  else if (order.kind == TaskKind::push) push(order);
  else to_compute_.push_back(order);
  if (!pulls_) begin_pull();
  if (computes_ || to_compute_.empty()) return;
  computes_ = true;
  actors_->spawn(fmt::format("worker {} computes", job_.plan.first_index + index_), node_, false,
                 [this] { compute_all(); });
}

void TaskWorker::begin_pull() {
  if (to_pull_.empty()) return;
  pulls_ = true;
  kv_.pull(kv_.all_shards(), to_pull_.front().clock, ClientActor::Wanted::any);
}

// The last message may complete a pull or pushes.
void TaskWorker::settle() {
  std::erase_if(pushes_, [this](const auto& push) {
    if (!kv_.done(push.first)) return false;
    tell(push.second);
    return true;
  });
  if (!pulls_ || !kv_.answered(kv_.all_shards())) return;
  const std::uint64_t task = *to_pull_.front().task;
  to_pull_.pop_front();
  pulls_ = false;
  kv_.use_all();
  Result& result = results_[task];
  result.versions = kv_.versions();
  std::vector<Slice> weights = kv_.take_weights();
  if (job_.plan.learner != nullptr) result.weights = job_.assemble(std::move(weights));
  tell(task);
  begin_pull();
}

// The body of the actor that computes, next to the actor that receives messages.
void TaskWorker::compute_all() {
  while (!to_compute_.empty()) {
    const RunTask order = to_compute_.front();
    to_compute_.pop_front();
    compute(order);
  }
  computes_ = false;
}

void TaskWorker::compute(const RunTask& order) {
  const Scenario& scenario = job_.plan.scenario;
  const std::int64_t samples = scenario.training.batch_size;
  Result& result = results_[*order.task];
  Result taken = std::move(results_.extract(order.source).mapped());
  result.versions = std::move(taken.versions);
  const std::int64_t version = result.versions.front();
  job_.record(node_, Computation{.clock = order.clock, .version = version});
  LocalWork work{.devices = scenario.cluster.worker_devices.count};
  std::vector<Batch>& batches = work.batches.emplace_back();
  // The clock's batches are numbered over all workers.
  const std::int64_t number =
      order.clock * tasks_of(job_.plan.tasks->program(), TaskKind::gradient) + order.batch;
  const auto workers = static_cast<std::int64_t>(job_.plan.workers());
  if (job_.plan.sampler)
    batches.push_back(
        job_.plan.sampler->batch(static_cast<std::uint32_t>(number % workers), number / workers));
  GradientTask task(job_);
  task.start(std::move(taken.weights), std::move(work));
  processor_.copy(all_copies(job_, job_.plan.keys.parameters, 1));
  psim::compute(job_, node_, flops_of_samples(job_, index_, 1, 1) * job_.slowness.of_step(index_, steps_++));
  task.wait();
  result.gradient = task.take();
  samples_ += samples;
  job_.record(
      node_, Computation{
                 .phase = ComputePhase::ended, .clock = order.clock, .version = version, .samples = samples});
  tell(*order.task);
}

void TaskWorker::push(const RunTask& order) {
  const Result computed = std::move(results_.extract(order.source).mapped());
  ++pushed_;
  const Timestamp sent = kv_.push(kv_.all_shards(), order.clock, computed.gradient,
                                  job_.plan.scenario.training.batch_size, {}, &computed.versions);
  pushes_.emplace(sent, *order.task);
}

void TaskWorker::tell(std::uint64_t task) {
  job_.network.send({.from = node_, .to = scheduler_node, .body = TaskDone{.task = task, .pushes = pushed_}});
}

}  // namespace psim

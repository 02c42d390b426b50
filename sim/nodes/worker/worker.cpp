#include "sim/nodes/worker/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/job/requests.hpp"
#include "sim/nodes/peers/peers.hpp"
#include "sim/nodes/worker/gradient_task.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/protocol/task_dag.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

Worker::Worker(JobContext& job, NodeId node, std::shared_ptr<Values> first_weights, bool back)
    : job_(job),
      context_{.job = job, .node = node, .index = node - job.plan.first_worker()},
      step_(make_step(context_)),
      first_weights_(std::move(first_weights)),
      returns_(back) {
  context_.kv.on_other([this](const Message& message) {
    if (message.is<Leave>()) leaves_ = true;  // the scheduler asks it to leave
    else if (const Start* start = message.as<Start>()) start_ = *start;
    else if (const Assign* assignment = message.as<Assign>()) context_.source.on(*assignment);
    else if (const Samples* samples = message.as<Samples>()) context_.source.on(message, *samples);
    else step_->on_peer(message);
  });
}

void Worker::run() {
  // A spare worker knows that the others have begun.
  const bool is_spare = std::ranges::find(job_.plan.spares, context_.node) != job_.plan.spares.end();
  const bool is_warm = job_.plan.warms_up_before_servers() && !returns_ && !is_spare;
  const Start start =
      is_warm ? join(
                    job_, context_.node, [this](Message message) { context_.kv.take(std::move(message)); },
                    [this] { return warm_up(); })
              : join(job_, context_.node);
  if (start.view) context_.kv.on_view(start.view);
  if (returns_) resume();
  else if (PSIM_PROBE(start.goes_on, "a worker begins after the others")) context_.source.is_late();
  if (PSIM_PROBE(is_warm && start.goes_on, "a warm-up is in vain: the others have begun")) forget_warm_up();
  else if (is_warm) wait(Awaited::acknowledgement, step_->push());
  if (leaves_) return finish(false);
  while (pull()) {  // waits as the consistency model requires
    if (step_->compute()) wait(Awaited::acknowledgement, step_->push());
    else if (!job_.plan.rule.drops_stale) begin_again();
    if (leaves_) return finish(false);
  }
  finish(true);
}

// Computes the first clock's local steps on the initial weights, which all workers have from the same seed.
// The push is the sum of their gradients, as if the worker had pulled the weights. So the steps run while the
// servers still come up.
std::optional<Start> Worker::warm_up() {
  context_.kv.begin_with(first_weights_);
  context_.is_ahead = true;
  context_.clock = 0;
  step_->compute();
  context_.is_ahead = false;
  return start_;
}

// The others have begun without this worker and have other weights now. It continues at their clock.
void Worker::forget_warm_up() {
  context_.kv.forget();
  go_on_with(0);
}

void Worker::wait(Awaited what, Timestamp task) {
  context_.kv.wait_until(what, context_.clock, [this, task] { return context_.kv.done(task); });
}

// Waits for the weights of the next step, and sets its clock.
bool Worker::pull() {
  ClientActor& kv = context_.kv;
  if (kv.clocks_to_skip() > 0) go_on_with(own_clock() + kv.take_clocks_to_skip());
  context_.source.share_out_among(kv.members());
  context_.source.ask_ahead(context_.number);
  if (job_.plan.sparse() && may_begin()) choose_keys();
  context_.on_own_copy = goes_on_alone();
  if (context_.on_own_copy) {
    context_.clock = own_clock();
    return true;
  }
  context_.clock = job_.plan.rule.drops_stale ? kv.least_version() + 1 : own_clock();
  kv.pull_for_step(context_.clock);
  kv.wait_for(step_->needs(), context_.clock);
  if (PSIM_PROBE(kv.clocks_to_skip() > 0, "a worker hears from its pull that it must skip")) return pull();
  context_.source.share_out_among(kv.members());  // the members may have changed meanwhile
  const bool over = kv.is_over();
  if (over) kv.wait_for_all(context_.clock);
  // It seemed to be the end, but a shard was set back.
  if (PSIM_PROBE(!over && !kv.has_keys_of(context_.number), "the end is taken back")) {
    pull_other_keys();
    return pull();
  }
  if (job_.plan.rule.drops_stale)
    context_.clock = over ? job_.plan.steps : std::min(job_.plan.steps, kv.least_version_here());
  context_.source.align(context_.number, context_.clock);
  return !over;
}

void Worker::finish(bool completes) {
  const NodeId node = context_.node;
  PSIM_PROBE(!completes && context_.kv.next_repetition(), "a worker leaves while a request of it is open");
  step_->leave(completes);
  job_.state.progress.finish(context_.index, completes, Agenda::now());
  job_.record(node, Finish{.clock = context_.clock, .leaves = !completes});
  through_ = true;
  // Where late pushes count, the pushes that a crash undoes stay lost, and no node needs them again.
  stays_ = context_.kv.all_finished() && job_.plan.rule.drops_stale && job_.plan.scenario.may_fail();
  leave(job_, node);
  if (!completes) job_.state.usage.turn_off(node, Agenda::now());
  if (!stays_) return;
  while (context_.kv.all_finished() || !context_.kv.answered(context_.kv.all_shards()))
    context_.kv.wait_for_message();
  PSIM_PROBE(true, "a worker that has finished is needed again");
  is_needed_ = true;
}

// After a crash: continues at the servers' clock, with the batches of that clock.
void Worker::resume() {
  context_.clock = context_.kv.resume();
  go_on_with(context_.clock);
  if (job_.plan.sparse() && own_clock() < job_.plan.steps) pull_other_keys();
}

// The others have continued without this worker. It takes their clock.
void Worker::go_on_with(std::int64_t clock) {
  expects(clock >= 0, "clocks are numbered from 0");
  first_ = context_.number = clock + context_.begun_again;
  context_.source.skip_to(context_.number);
}

// Where stale pushes count, a stopped step belongs to a clock that is still to be computed.
void Worker::begin_again() {
  context_.kv.listen_until(Agenda::now());  // the answer that stopped the step
  ++context_.begun_again;
  context_.kv.begin_again();
}

// Whether the worker is between two pulls, on its own copy of the weights.
bool Worker::goes_on_alone() const {
  return context_.number > first_ && context_.number % job_.plan.scenario.training.pull_every != 0 &&
         context_.number < job_.plan.steps;
}

// Whether there may be another step. Where pushes may come too late, there can be more steps than updates.
bool Worker::may_begin() const {
  if (!job_.plan.rule.drops_stale) return own_clock() < job_.plan.steps;
  return context_.kv.least_version() + (job_.plan.rule.gate == Gate::version ? 1 : 0) < job_.plan.steps;
}

// A sparse model pulls only the keys of its next batches.
void Worker::choose_keys() {
  context_.wait_for_batches();
  Batch samples;
  for (const std::vector<Batch>& batches : context_.source.batches()) {
    for (const Batch& batch : batches) samples.insert(samples.end(), batch.begin(), batch.end());
  }
  context_.kv.use_keys(
      std::make_shared<const BatchKeys>(split(job_.plan.learner->keys(samples), context_.kv.key_space())),
      context_.number);
}

// Only now the worker knows its next batch. So the weights here do not belong to the keys of this batch.
void Worker::pull_other_keys() {
  choose_keys();
  wait(Awaited::weights,
       context_.kv.pull(context_.kv.all_shards(), context_.clock, ClientActor::Wanted::any));
}

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
  const double flops = flops_of_samples(job_, index_, 1, 1),
               copies = all_copies(job_, job_.plan.keys.parameters, 1),
               slowness = job_.slowness.of_step(index_, steps_++);
  job_.record_begun(node_, Computation{.clock = order.clock, .version = version}, flops, copies, slowness);
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
  processor_.copy(copies);
  psim::compute(job_, node_, flops * slowness);
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
  const Timestamp sent =
      kv_.push(kv_.all_shards(), order.clock, computed.gradient,
               {.samples = job_.plan.scenario.training.batch_size}, {}, &computed.versions);
  pushes_.emplace(sent, *order.task);
}

void TaskWorker::tell(std::uint64_t task) {
  job_.network.send({.from = node_, .to = scheduler_node, .body = TaskDone{.task = task, .pushes = pushed_}});
}

}  // namespace psim

#include "sim/nodes/peers/pipeline_worker.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "model/parameters.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/activations.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

std::int64_t micro_batches(const JobContext& job) {
  return micro_batches_of(job.plan.scenario.architecture, job.plan.workers(),
                          samples_per_step(job.plan.scenario));
}

}  // namespace

StageWorker::StageWorker(JobContext& job, Pipeline& pipeline, std::uint32_t index, const Stage& stage,
                         std::size_t inputs, const Values* weights)
    : job_(job),
      pipeline_(pipeline),
      node_(job.plan.first_worker() + index),
      index_(index),
      stage_(stage),
      inputs_(inputs),
      work_(
          stage_work(job.plan.scenario.architecture.schedule, job.plan.workers(), index, micro_batches(job))),
      replica_(job, weights, stage.parameters),
      mailbox_(job, node_, job.plan.scenario.may_fail()) {}

void StageWorker::run() {
  const Start start = enter(job_, node_, mailbox_);
  SharedView view = start.view;
  bool goes_on = start.goes_on;
  for (;;) {
    try {
      form_group(view, goes_on);
      for (; clock_ < job_.plan.steps; ++clock_) step();
      await_others();
      return leave(job_, node_, clock_, mailbox_);
    } catch (const NewGroup& group) {
      view = group.view;
      goes_on = true;
    }
  }
}

void StageWorker::lose() {
  is_lost_ = true;
  mailbox_.clear();
}

void StageWorker::form_group(const SharedView& view, bool goes_on) {
  mailbox_.join(view);
  const bool restarts = job_.plan.scenario.recovery.workers == LostWorkers::restart;
  if (PSIM_PROBE(!restarts && is_lost_, "a pipeline waits for ever")) mailbox_.await_group();
  if (!restarts) return;
  if (PSIM_PROBE(!is_whole(job_, view), "a stage waits for a lost one")) mailbox_.await_group();
  if (is_lost_ && !goes_on) adopt({});
  if (goes_on) go_back();
  is_lost_ = false;
}

// Returns to a version of which every stage has its part, even if no stage has lost anything: some stages may
// have done the current step.
void StageWorker::go_back() {
  // All stages have done all steps; otherwise this stage would not have finished.
  if (PSIM_PROBE(job_.state.progress.some_completed(), "a stage is back when the others have finished")) {
    clock_ = job_.plan.steps;
    return;
  }
  meet(is_lost_ ? -1 : replica_.version(), Round::before_restoring);
  State kept{};
  if (job_.plan.scenario.snapshot.every) {
    mailbox_.send_about(index_, job_.plan.snapshot_node(), Restore{});
    kept = *mailbox_.take_any(MessageKind::state, job_.plan.snapshot_node()).as<State>();
  }
  adopt(kept);
  clock_ = replica_.version();
  if (meet(clock_, Round::after_restoring)) return;
  adopt({});
  clock_ = 0;
  meet(clock_, Round::beginning_anew);
}

void StageWorker::adopt(const State& state) {
  replica_.adopt(state);
  job_.observer.on_version();
}

// A worker that leaves takes its layers with it. So no worker leaves before all have finished.
void StageWorker::await_others() {
  const bool restarts =
      job_.plan.scenario.may_fail() && job_.plan.scenario.recovery.workers == LostWorkers::restart;
  if (!restarts || job_.state.progress.some_completed()) return;
  meet(clock_, Round::at_end);
}

// No stage continues before all are here: the first stage's gradient uses the weights of all stages.
bool StageWorker::meet(std::int64_t version, Round number) {
  std::vector<NodeId> nodes(job_.plan.workers());
  std::iota(nodes.begin(), nodes.end(), job_.plan.first_worker());
  return psim::meet(mailbox_, nodes, version, static_cast<std::int64_t>(number),
                    number == Round::after_restoring);
}

void StageWorker::step() {
  if (is_first() && is_last()) mailbox_.look();
  if (is_first()) {
    pipeline_.start_gradient(clock_);  // every stage has done its last update
    is_kept_ = ends_with_snapshot();
  }
  for (std::size_t part = 0; part < work_.size(); ++part) {
    const auto& [direction, micro_batch] = work_[part];
    direction == StageWork::forward ? forward(micro_batch, part) : backward(micro_batch, part);
  }
}

bool StageWorker::ends_with_snapshot() {
  const std::optional<Period>& every = job_.plan.scenario.snapshot.every;
  if (!every) return false;
  const std::int64_t turn = every->by_updates()
                                ? (clock_ + 1) / every->updates
                                : static_cast<std::int64_t>(Agenda::now() / every->time.value);
  return turn > std::exchange(snapshots_, turn);
}

void StageWorker::forward(std::int64_t micro_batch, std::size_t part) {
  if (!is_first())
    is_kept_ =
        mailbox_.take(MessageKind::activation, node_ - 1, clock_, micro_batch).as<Activations>()->is_kept;
  spend(micro_batch, stage_.forward, part);
  if (!is_last()) send(activation(micro_batch, stage_.outputs), node_ + 1);
}

void StageWorker::backward(std::int64_t micro_batch, std::size_t part) {
  if (!is_last()) mailbox_.take(MessageKind::error, node_ + 1, clock_, micro_batch);
  const bool again = job_.plan.scenario.training.recompute;
  spend(micro_batch, stage_.backward + (again ? stage_.forward : 0), part);
  if (part + 1 == work_.size()) update();
  if (!is_first()) send(Errors{activation(micro_batch, inputs_)}, node_ - 1);
}

// Spends the time of this worker for `share` of the micro-batch's gradient. Slowness is drawn once per step.
void StageWorker::spend(std::int64_t micro_batch, double share, std::size_t part) {
  const auto parts = static_cast<std::int64_t>(work_.size());
  const auto number = static_cast<std::int64_t>(part);
  Computation record{.clock = clock_, .version = replica_.version(), .part = number, .parts = parts};
  const double batches = static_cast<double>(pipeline_.samples_in(micro_batch)) /
                         static_cast<double>(job_.plan.scenario.training.batch_size);
  const Scenario& scenario = job_.plan.scenario;  // shares are parts of a gradient
  const double gradient =
      flops_of_samples(job_, index_, scenario.training.local_steps, 1) / recompute_factor(scenario);
  const double slowness = job_.slowness.of_step(index_, clock_);
  job_.record_begun(node_, record, gradient * batches * share, 0, slowness);
  compute(job_, node_, gradient * slowness * batches * share);
  // A stage computes its part of all workers' batches. This equals an even share of the samples.
  record.phase = ComputePhase::ended;
  if (record.is_last()) record.samples = pipeline_.samples_of_stage(index_);
  samples_ += record.samples.value_or(0);
  job_.record(node_, record);
}

Activations StageWorker::activation(std::int64_t micro_batch, std::size_t width) const {
  const std::size_t count = pipeline_.samples_in(micro_batch) * width;
  return {.clock = clock_,
          .version = replica_.version(),
          .micro_batch = micro_batch,
          .values = count,
          .bytes = count * bytes_per_value(job_.plan.precision()),
          .is_kept = is_kept_};
}

void StageWorker::send(Body body, NodeId to) { mailbox_.send(to, std::move(body)); }

void StageWorker::update() {
  replica_.update(pipeline_.gradient(replica_.range()), 1.0);
  job_.record(node_, ModelUpdate{.version = replica_.version()});
  job_.observer.on_version();
  if (!is_kept_) return;
  Message copy{.from = node_, .to = job_.plan.snapshot_node(), .shard = index_};
  copy.body = State{
      .version = replica_.version(), .entries = 0, .replica = replica_.content(), .bytes = replica_.bytes()};
  job_.network.send(std::move(copy));
}

Pipeline::Pipeline(JobContext& job, const Values* weights)
    : Peers(job.plan.workers()),
      job_(job),
      samples_(static_cast<std::size_t>(samples_per_step(job.plan.scenario))),
      micro_batches_(static_cast<std::size_t>(micro_batches(job))) {
  std::size_t inputs = 0;
  for (const Stage& stage : cut_in_stages(job.plan.scenario.model, job.plan.workers())) {
    const auto index = static_cast<std::uint32_t>(stages_.size());
    stages_.push_back(std::make_unique<StageWorker>(job, *this, index, stage, inputs, weights));
    inputs = stage.outputs;
  }
}

std::size_t Pipeline::samples_in(std::int64_t index) const {
  return even_range(samples_, micro_batches_, static_cast<std::size_t>(index)).count;
}

std::int64_t Pipeline::samples_of_stage(std::uint32_t index) const {
  return static_cast<std::int64_t>(even_range(samples_, stages_.size(), index).count);
}

void Pipeline::start_gradient(std::int64_t clock) {
  if (job_.plan.learner == nullptr) return;
  std::vector<std::uint32_t> batch;
  for (std::uint32_t w = 0; w < machines_with_data(job_.plan.scenario); ++w) {
    const std::vector<std::uint32_t> part = job_.plan.sampler->batch(w, clock);
    batch.insert(batch.end(), part.begin(), part.end());
  }
  if (PSIM_PROBE(task_, "stages gave up a gradient")) job_.pool.abandon(task_);
  gradient_ = std::make_shared<Values>();
  task_ = job_.pool.submit([weights = job_.assemble(weights()), learner = job_.plan.learner.get(),
                            result = gradient_, batch = std::move(batch), precision = job_.plan.precision(),
                            scale = job_.plan.loss_scale(), totals = &job_.state.totals] {
    *result = learner->gradient(weights->get(), batch);
    if (round_to(precision, *result, scale)) totals->overflow();
  });
}

Slice Pipeline::gradient(Range range) {
  if (task_) job_.pool.wait(task_);
  return {gradient_, range.begin, range.count};
}

void Pipeline::on_arrival(const Message& message) {
  if (job_.plan.is_worker(message.from))
    stages_[message.from - job_.plan.first_worker()]->mailbox().arrived(message);
}

std::vector<std::string> Pipeline::who_waits() const {
  std::vector<std::string> lines;
  for (const auto& stage : stages_) {
    if (std::string line = waits_for(job_, stage->mailbox()); !line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Slice> Pipeline::weights() const {
  std::vector<Slice> parts;
  for (const auto& stage : stages_) parts.push_back(stage->replica().weights());
  return parts;
}

std::int64_t Pipeline::version() const {
  const auto least =
      std::ranges::min_element(stages_, {}, [](const auto& stage) { return stage->replica().version(); });
  return (*least)->replica().version();
}

}  // namespace psim

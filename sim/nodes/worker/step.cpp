#include "sim/nodes/worker/step.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "model/learner.hpp"
#include "sim/nodes/job/processor.hpp"
#include "sim/nodes/worker/gradient_probe.hpp"
#include "sim/nodes/worker/gradient_task.hpp"
#include "sim/nodes/worker/stealing_step.hpp"
#include "sim/protocol/probe.hpp"
#include "sim/scenario/spec/activations.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

// The step of Li et al. 2014. It begins when all weights are here, computes one gradient, and pushes the
// finished gradient. With late = "cancel" it stops as soon as its push would be too late.
class GradientStep final : public Step {
 public:
  explicit GradientStep(StepContext& context) : step_(context), task_(context.job) {}

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  bool compute() override;
  Timestamp push() override;
  void on_arrival(const Message& message) override;

 private:
  StepContext& step_;
  GradientTask task_;
};

bool GradientStep::compute() {
  JobContext& job = step_.job;
  const bool keeps = job.plan.scenario.training.pull_every > 1;
  step_.prepare();
  if (job.plan.rule.cancel && !step_.is_ahead) step_.kv.watch_for_newer(step_.clock);
  std::shared_ptr<Assembly> weights;
  constexpr std::int64_t most = 10'000;  // attempts
  for (std::int64_t attempts = 0;; ++attempts) {
    if (attempts == most)
      job.run.give_up(step_.node,
                      "has given 10000 computations up, one after the other: training.give_up is too short");
    const double copies = step_.copy_seconds(), flops = step_.flops_of_step(),
                 limit = step_.flops_until_given_up(copies);
    step_.record_begun(step_.number);
    LocalWork work = step_.begin(keeps);
    if (attempts == 0 && !step_.on_own_copy) weights = step_.take_weights(work.keys.get());
    const bool ends = !(flops > limit);  // steps without time may have no number
    if (ends) task_.start(std::move(weights), std::move(work));
    const bool is_wanted = step_.processor.copy(copies) && step_.processor.compute(std::min(flops, limit));
    if (ends && is_wanted) break;
    if (ends) task_.cancel();
    step_.record(ComputePhase::cancelled);
    if (!is_wanted) return false;
    PSIM_PROBE(true, "a worker gives a computation up");
    step_.begin_again();
  }
  task_.wait();
  step_.record(ComputePhase::ended, step_.source.in_hand());
  step_.source.computed(step_.processor.seconds());
  return true;
}

Timestamp GradientStep::push() { return step_.push(step_.kv.all_shards(), step_.to_push(task_.take())); }

void GradientStep::on_arrival(const Message& message) {
  if (step_.job.plan.rule.cancel && step_.kv.is_expected(message)) step_.processor.stop();
}

// Elastic averaging (Zhang, Choromanska, LeCun, NIPS 2015, algorithm 1). The worker trains its own weights.
// In each step these weights and the servers' centre move towards each other. The worker pushes this move.
class ElasticStep final : public Step {
 public:
  explicit ElasticStep(StepContext& context) : step_(context), task_(context.job) {}

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  bool compute() override;
  Timestamp push() override { return pushed_; }

 private:
  void pull_to_centre();

  StepContext& step_;
  GradientTask task_;
  Timestamp pushed_ = 0;
};

bool ElasticStep::compute() {
  step_.prepare();
  pull_to_centre();
  const double flops = step_.flops_of_step();
  const double copies = step_.copy_seconds();
  step_.record_begun(step_.number);
  task_.start(nullptr, step_.begin(true));
  step_.processor.copy(copies);
  step_.processor.compute(flops);
  task_.wait();
  step_.record(ComputePhase::ended, step_.source.in_hand());
  step_.source.computed(step_.processor.seconds());
  task_.take();
  return true;
}

// The centre moves at once, the worker with its next step.
void ElasticStep::pull_to_centre() {
  const JobContext& job = step_.job;
  const TrainingSpec& training = job.plan.scenario.training;
  std::shared_ptr<Values> spring;
  if (const std::shared_ptr<Assembly> centre = step_.take_weights(nullptr)) {
    const double alpha = training.elastic_rate.value_or(0.9 / static_cast<double>(job.plan.workers()));
    spring = elastic_step(centre->get(), alpha, task_.local());
    round_to(job.plan.precision(), *spring);
  }
  pushed_ = step_.kv.push(step_.kv.all_shards(), step_.clock, step_.to_push(spring),
                          {.samples = training.batch_size});
}

// A step that computes and communicates at the same time, layer by layer. The forward pass of a layer begins
// when its weights are here. The worker pushes the layer's gradient when its backward pass is done. In a
// clock of several batches this means the first batch's forward pass and the last batch's backward pass. When
// the worker pushes a layer's gradient, it also requests the layer's weights for the next step
// (ByteScheduler: Peng et al., SOSP 2019; P3: Jayarajan et al., MLSys 2019). So they come while the worker
// still computes the layers in front.
class OverlapStep final : public Step {
 public:
  explicit OverlapStep(StepContext& context);

  const ShardIds& needs() const override { return layers_.front().shards; }
  bool compute() override;
  Timestamp push() override;

 private:
  struct Layer {
    ShardIds shards;
    double forward, backward;  // shares of the step's work
    double copy;               // seconds to copy its weights or its gradients
  };
  void await(const ShardIds& shards);
  void spend(double flops, double copy);
  void push(const Layer& layer, const std::shared_ptr<Values>& gradient);

  StepContext& step_;
  bool pulls_ahead_;
  std::vector<Layer> layers_;
  GradientTask task_;
  std::shared_ptr<Values> gradient_;  // to push
  Timestamp pushed_ = 0;
};

namespace {

// Whether the next step certainly pulls the shards that this one has pushed. Where nodes fail, the worker may
// have to repeat a step. Where servers drop late pushes, the next clock is not known yet.
bool pulls_ahead(const JobContext& job) {
  const Scenario& s = job.plan.scenario;
  const ConsistencyRule& rule = job.plan.rule;
  const bool knows_clock = rule.waits_for_all() || (!rule.drops_stale && rule.gate != Gate::version);
  return knows_clock && !s.may_fail() && !job.plan.sparse() && !s.consistency.cache &&
         s.training.pull_every == 1 && !job.plan.workers_update();
}

}  // namespace

OverlapStep::OverlapStep(StepContext& context)
    : step_(context), pulls_ahead_(pulls_ahead(context.job)), task_(context.job) {
  const JobContext& job = context.job;
  for (const LayerWork& work : step_work(job.plan.scenario))
    layers_.push_back({.shards = {}, .forward = work.forward, .backward = work.backward, .copy = 0});
  for (const std::uint32_t s : context.kv.all_shards())
    layers_[job.plan.keys.shards[s].layer].shards.push_back(s);
  for (Layer& layer : layers_) layer.copy = context.copies_of_local_step(layer.shards) / 2;
}

bool OverlapStep::compute() {
  step_.prepare();
  const TrainingSpec& training = step_.job.plan.scenario.training;
  const std::int64_t local_steps = step_.source.local_steps_of(step_.number);
  const double batches = static_cast<double>(local_steps * training.accumulate);
  const double flops = step_.flops_of_step() / batches;
  const double between = step_.copy_seconds() - step_.copies_of_local_step(step_.kv.all_shards());
  step_.record_begun(step_.number);
  for (const Layer& layer : layers_) {
    const bool is_last = &layer == &layers_.back();
    // The first layer's weights are here. If a layer's owner has changed since its forward pass, the client
    // may have asked for its weights again, and the gradient needs all weights.
    if (&layer != &layers_.front()) await(is_last ? step_.kv.all_shards() : layer.shards);
    if (is_last) {
      LocalWork work = step_.begin(false);
      std::shared_ptr<Assembly> weights = step_.take_weights(work.keys.get());
      task_.start(std::move(weights), std::move(work));
    }
    spend(flops * layer.forward, layer.copy);
  }
  // The rest of the first batch, the batches between, and the forward pass of the last batch.
  if (batches > 1) spend(flops * (batches - 1), between);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    spend(flops * layers_[l].backward, layers_[l].copy);
    if (l > 0 && layers_[l].shards.empty()) continue;
    task_.wait();
    if (!gradient_) gradient_ = step_.to_push(task_.take());
    if (l > 0) push(layers_[l], gradient_);
    if (l > 0 && pulls_ahead_) step_.kv.pull_ahead(layers_[l].shards, step_.number);
  }
  step_.record(ComputePhase::ended, step_.source.in_hand());
  step_.source.computed(step_.processor.seconds());
  return true;
}

void OverlapStep::await(const ShardIds& shards) {
  JobContext& job = step_.job;
  if (step_.kv.answered(shards)) return;
  step_.record(ComputePhase::paused);
  step_.kv.wait_for(shards, step_.clock);
  if (job.plan.rule.drops_stale) step_.clock = std::min(job.plan.steps, step_.kv.least_version_here());
  step_.record(ComputePhase::resumed);
}

void OverlapStep::spend(double flops, double copy) {
  step_.processor.copy(copy);
  step_.processor.compute(flops);
}

Timestamp OverlapStep::push() {
  push(layers_.front(), std::exchange(gradient_, nullptr));
  return pushed_;
}

void OverlapStep::push(const Layer& layer, const std::shared_ptr<Values>& gradient) {
  if (!layer.shards.empty()) pushed_ = step_.push(layer.shards, gradient);
}

// Streaming DiLoCo (Douillard et al., arXiv 2501.18512, 2025; in torchft DiLoCo with several fragments). A
// worker keeps its own copy of all weights. In each clock it pushes how far the fragment of this clock has
// moved since it last came from the servers, takes `delay` more local steps, and gets the fragment's new
// weights with its next pull.
class FragmentStep final : public Step {
 public:
  explicit FragmentStep(StepContext& context) : step_(context), task_(context.job) {}

  const ShardIds& needs() const override { return step_.kv.all_shards(); }
  bool compute() override;
  Timestamp push() override { return pushed_; }

 private:
  void take_fragment();
  void push_fragment();
  void train(LocalWork work, double flops);

  StepContext& step_;
  GradientTask task_;
  Values base_;  // the weights that last came from the servers
  Timestamp pushed_ = 0;
};

bool FragmentStep::compute() {
  const OuterLoop& outer = step_.job.plan.scenario.training.outer;
  step_.prepare();
  take_fragment();
  const double flops = step_.flops_of_step(), copies = step_.copy_seconds();
  step_.record_begun(step_.number);
  LocalWork before = step_.begin(true);
  before.keys = nullptr;
  before.moves = false;
  const std::size_t all = before.batches.size(),
                    rest = std::min(all - 1, static_cast<std::size_t>(outer.delay));
  LocalWork after = before;
  const auto cut = before.batches.end() - static_cast<std::ptrdiff_t>(rest);
  const double of_step = flops / static_cast<double>(all);
  after.batches.assign(cut, before.batches.end());
  after.own->rates.erase(after.own->rates.begin(),
                         after.own->rates.end() - static_cast<std::ptrdiff_t>(rest));
  after.own->fresh = false;
  before.batches.erase(cut, before.batches.end());
  step_.processor.copy(copies);
  train(std::move(before), of_step * static_cast<double>(all - rest));
  push_fragment();
  if (PSIM_PROBE(rest > 0, "a fragment travels while its worker computes"))
    train(std::move(after), of_step * static_cast<double>(rest));
  step_.record(ComputePhase::ended, step_.source.in_hand());
  step_.source.computed(step_.processor.seconds());
  return true;
}

void FragmentStep::train(LocalWork work, double flops) {
  task_.start(nullptr, std::move(work));
  step_.processor.compute(flops);
  task_.wait();
  task_.take();
}

// The first pull has all weights.
void FragmentStep::take_fragment() {
  const std::shared_ptr<const BatchKeys> batch = step_.kv.keys();
  const std::shared_ptr<Assembly> pulled = step_.take_weights(batch.get());
  std::shared_ptr<Values>& own = task_.local().weights;
  if (!batch) {
    base_ = Values(pulled->get());
    own = std::make_shared<Values>(base_);
    return;
  }
  with_scalar(base_.precision(), [&](auto zero) {
    using Scalar = decltype(zero);
    const auto mix = static_cast<Scalar>(step_.job.plan.scenario.training.outer.mix);
    const auto from = pulled->get().as<Scalar>();
    for (std::size_t i = 0; i < batch->keys.size(); ++i) {
      Scalar& mine = own->as<Scalar>()[batch->keys[i]];
      base_.as<Scalar>()[batch->keys[i]] = from[i];
      mine = (1 - mix) * from[i] + mix * mine;
    }
  });
}

void FragmentStep::push_fragment() {
  const JobPlan& plan = step_.job.plan;
  const auto turn = static_cast<std::size_t>(step_.clock) % plan.fragments.size();
  const std::shared_ptr<const BatchKeys>& batch = plan.fragments[turn];
  const Values& own = *task_.local().weights;
  const auto move =
      std::make_shared<Values>(move_between(gather(base_, batch->keys), gather(own, batch->keys)));
  if (round_to(plan.precision(), *move, plan.loss_scale())) step_.job.state.totals.overflow();
  step_.kv.use_keys(batch, step_.number);
  pushed_ = step_.push(step_.kv.all_shards(), step_.to_push(move));
  if (pulls_ahead(step_.job)) step_.kv.pull_ahead(step_.kv.all_shards(), step_.number);
}

std::unique_ptr<Step> make_step(StepContext& context) {
  const JobContext& job = context.job;
  if (job.plan.steals()) return std::make_unique<SharedStep>(context);
  if (job.plan.elastic()) return std::make_unique<ElasticStep>(context);
  if (!job.plan.fragments.empty()) return std::make_unique<FragmentStep>(context);
  if (job.plan.scenario.messages.overlap) return std::make_unique<OverlapStep>(context);
  return std::make_unique<GradientStep>(context);
}

void StepContext::record(ComputePhase phase, std::optional<std::int64_t> samples) {
  job.record(node, Computation{.phase = phase, .clock = clock, .version = kv.version(0), .samples = samples});
}

void StepContext::record_begun(std::int64_t number_of_step) {
  const double flops =
      psim::flops_of_samples(job, index, source.local_steps_of(number_of_step), source.scale());
  job.record_begun(node, Computation{.clock = clock, .version = kv.version(0)}, flops + update_flops(),
                   all_copies(job, job.plan.keys.parameters, source.local_steps_of(number_of_step)),
                   job.slowness.of_step(index, number_of_step));
}

void StepContext::wait_for_batches() {
  kv.wait_until(Awaited::samples, number, [this] { return source.prepare(number); });
}

void StepContext::prepare() {
  if (const std::optional<Seconds>& time = job.plan.scenario.training.local_time)
    source.fit(steps_that_fit(time->value - seconds_beside_local_steps(), seconds_of_local_step()));
  if (const std::optional<Seconds>& time = job.plan.scenario.training.accumulate_time)
    source.fit_batches(std::min(job.plan.scenario.training.accumulate,
                                steps_that_fit(time->value - seconds_beside_batches(), seconds_of_batch())));
  if (job.plan.scenario.training.inner.dynamic)
    source.fit(dynamic_steps(job.plan.scenario, job.state.step_seconds.fastest(job.state.progress),
                             job.state.step_seconds.of_worker[index]));
  wait_for_batches();
  batch_size = source.batch_size();
  processor.start_timer();
}

void StepContext::begin_again() {
  ++begun_again;
  source.align(number, clock);
  prepare();
}

LocalWork StepContext::begin(bool keep) {
  ++number;
  kv.use_all();
  LocalWork work{.batches = source.take(),
                 .keys = kv.keys(),
                 .devices = job.plan.scenario.cluster.worker_devices.count,
                 .keep = keep};
  if (job.plan.learner == nullptr) return work;
  if (work.keys && job.plan.sparse()) job.state.totals.use_keys(index, work.keys->keys.size());
  work.moves = job.plan.pushes_moves();
  if (keep || work.moves) work.own = own_steps(job.plan, clock, work.batches.size());
  if (GradientProbe* probe = job.gradients) probe->on_work(node, work);
  return work;
}

std::shared_ptr<Assembly> StepContext::take_weights(const BatchKeys* keys) {
  if (job.plan.learner == nullptr) return nullptr;
  return keys != nullptr ? std::make_shared<Assembly>(kv.take_weights(), &keys->places)
                         : job.assemble(kv.take_weights(), kv.layout());
}

// The probe measures staleness, so it needs no corrupted values.
std::shared_ptr<Values> StepContext::to_push(const std::shared_ptr<Values>& computed) {
  std::shared_ptr<Values> pushed = job.state.corrupt_pushes.pushed(index, clock, Agenda::now(), computed);
  if (GradientProbe* probe = job.gradients; probe != nullptr && pushed && pushed == computed)
    probe->on_gradient(node, clock, *pushed);
  return pushed;
}

Timestamp StepContext::push(const ShardIds& shards, const std::shared_ptr<Values>& gradient) {
  const auto parameters = static_cast<std::int64_t>(job.plan.keys.parameters);
  const std::int64_t blocks = job.plan.scenario.training.feature_blocks;
  const KvClient::Work work{
      .samples = job.plan.scenario.training.accumulate_time ? source.in_hand() : batch_size,
      .batches = source.in_hand() / std::max<std::int64_t>(1, batch_size),
      .seconds = processor.seconds()};
  return kv.push(shards, clock, gradient, work,
                 blocks > 1 ? feature_block(parameters, blocks, clock) : KeyRange{});
}

double StepContext::flops_of_samples() const {
  return psim::flops_of_samples(job, index, source.local_steps_of(number), source.scale());
}

double StepContext::flops_of_step() const {
  return (flops_of_samples() + update_flops()) * job.slowness.of_step(index, number);
}

// At the machine's speed at the beginning of the step, as for all times of a step.
double StepContext::flops_until_given_up(double copies) const {
  const std::optional<Seconds>& time = job.plan.scenario.training.give_up;
  if (!time || is_ahead) return std::numeric_limits<double>::infinity();
  return std::max(0.0, time->value - copies) * processor.speed();
}

double StepContext::update_flops() const {
  const Scenario& scenario = job.plan.scenario;
  if (!job.plan.workers_update()) return 0;
  // The simulated machine computes at the speed of the host. Devices have their own speed.
  const double times = updates_on_devices(scenario)
                           ? scenario.cluster.worker.speed.of(index).value / slowest_device(scenario, index)
                           : 1;
  return times * scenario.cluster.worker.flops_per_value * static_cast<double>(job.plan.keys.parameters);
}

// Devices that keep the weights copy them from the host and back only once.
double StepContext::seconds_beside_local_steps() const {
  return update_flops() * job.slowness.of_step(index, number) / processor.speed() +
         all_copies(job, job.plan.keys.parameters, 0);
}

double StepContext::seconds_of_local_step() const {
  const double flops = flops_of_samples() / static_cast<double>(source.local_steps_of(number));
  return flops * job.slowness.of_step(index, number) / processor.speed() +
         all_copies(job, job.plan.keys.parameters, 1) - all_copies(job, job.plan.keys.parameters, 0);
}

double StepContext::seconds_beside_batches() const {
  return update_flops() * job.slowness.of_step(index, number) / processor.speed() + copy_seconds();
}

double StepContext::seconds_of_batch() const {
  const double flops = flops_of_samples() / static_cast<double>(source.accumulated());
  return flops * job.slowness.of_step(index, number) / processor.speed();
}

double StepContext::copy_seconds() const {
  return all_copies(job, job.plan.keys.parameters, source.local_steps_of(number));
}

double StepContext::copies_of_local_step(const ShardIds& shards) const {
  std::size_t values = 0;
  for (const std::uint32_t s : shards) values += kv.key_space().shards[s].count;
  return all_copies(job, values, 1);
}

}  // namespace psim

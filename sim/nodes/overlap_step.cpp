#include "sim/nodes/overlap_step.hpp"

#include <algorithm>
#include <utility>

#include "sim/scenario/spec/activations.hpp"

namespace psim {

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
  step_.record(ComputePhase::begun);
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
    if (l > 0) push(layers_[l], task_.gradient());
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
  push(layers_.front(), task_.take());
  return pushed_;
}

void OverlapStep::push(const Layer& layer, const std::shared_ptr<Values>& gradient) {
  if (!layer.shards.empty()) pushed_ = step_.push(layer.shards, gradient);
}

}  // namespace psim

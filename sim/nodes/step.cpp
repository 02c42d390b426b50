#include "sim/nodes/step.hpp"

#include "model/learner.hpp"
#include "sim/nodes/charged_work.hpp"
#include "sim/nodes/elastic_step.hpp"
#include "sim/nodes/gradient_probe.hpp"
#include "sim/nodes/gradient_step.hpp"
#include "sim/nodes/overlap_step.hpp"
#include "sim/nodes/stealing_step.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/pace.hpp"

namespace psim {

std::unique_ptr<Step> make_step(StepContext& context) {
  const JobContext& job = context.job;
  if (job.plan.steals()) return std::make_unique<SharedStep>(context);
  if (job.plan.elastic()) return std::make_unique<ElasticStep>(context);
  if (job.plan.scenario.messages.overlap) return std::make_unique<OverlapStep>(context);
  return std::make_unique<GradientStep>(context);
}

void StepContext::record(ComputePhase phase, std::optional<std::int64_t> samples) {
  job.record(node, Computation{.phase = phase, .clock = clock, .version = kv.version(0), .samples = samples});
}

void StepContext::wait_for_batches() {
  kv.wait_until(Awaited::samples, number, [this] { return source.prepare(number); });
}

void StepContext::prepare() {
  if (const std::optional<Seconds>& time = job.plan.scenario.training.local_time)
    source.fit(steps_that_fit(time->value - seconds_beside_local_steps(), seconds_of_local_step()));
  wait_for_batches();
  batch_size = source.batch_size();
  processor.start_timer();
}

LocalWork StepContext::begin(bool keep) {
  ++number;
  kv.use_all();
  LocalWork work{.batches = source.take(),
                 .keys = kv.keys(),
                 .devices = job.plan.scenario.cluster.worker_devices.count,
                 .keep = keep};
  if (job.plan.learner == nullptr) return work;
  if (work.keys) job.state.totals.use_keys(index, work.keys->keys.size());
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

Timestamp StepContext::push(const ShardIds& shards, const std::shared_ptr<Values>& gradient) {
  const auto parameters = static_cast<std::int64_t>(job.plan.keys.parameters);
  const std::int64_t blocks = job.plan.scenario.training.feature_blocks;
  if (GradientProbe* probe = job.gradients; probe != nullptr && gradient)
    probe->on_gradient(node, clock, *gradient);
  return kv.push(shards, clock, gradient, batch_size,
                 blocks > 1 ? feature_block(parameters, blocks, clock) : KeyRange{});
}

double StepContext::flops_of_samples() const {
  return psim::flops_of_samples(job, index, source.local_steps_of(number), source.scale());
}

double StepContext::flops_of_step() const {
  return (flops_of_samples() + update_flops()) * job.slowness.of_step(index, number);
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

double StepContext::copy_seconds() const {
  return all_copies(job, job.plan.keys.parameters, source.local_steps_of(number));
}

double StepContext::copies_of_local_step(const ShardIds& shards) const {
  std::size_t values = 0;
  for (const std::uint32_t s : shards) values += kv.key_space().shards[s].count;
  return all_copies(job, values, 1);
}

}  // namespace psim

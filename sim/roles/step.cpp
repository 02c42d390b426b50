#include "sim/roles/step.hpp"

#include "model/mutant.hpp"
#include "sim/roles/elastic_step.hpp"
#include "sim/roles/gradient_step.hpp"
#include "sim/roles/overlap_step.hpp"
#include "sim/roles/shared_step.hpp"
#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/spec/devices.hpp"

namespace psim {

std::unique_ptr<Step> make_step(StepContext& context) {
  const World& world = context.world;
  if (world.steals()) return std::make_unique<SharedStep>(context);
  if (world.elastic()) return std::make_unique<ElasticStep>(context);
  if (world.scenario.messages.overlap) return std::make_unique<OverlapStep>(context);
  return std::make_unique<GradientStep>(context);
}

void StepContext::prepare() {
  while (!source.prepare(number)) kv.wait_for_message();
  batch_size = source.batch_size();
  processor.start_timer();
}

LocalWork StepContext::begin(bool keep) {
  ++number;
  kv.use_all();
  LocalWork work{.batches = source.take(),
                 .keys = kv.keys(),
                 .devices = world.scenario.cluster.worker_devices.count,
                 .keep = keep};
  if (world.learner == nullptr) return work;
  if (work.keys) world.keys_used[index] += work.keys->keys.size();
  work.rate = world.learning_rate().at(world.epochs().after(static_cast<double>(clock)));
  return work;
}

std::shared_ptr<Assembly> StepContext::take_weights(const BatchKeys* keys) {
  if (world.learner == nullptr) return nullptr;
  return keys != nullptr ? std::make_shared<Assembly>(kv.take_weights(), &keys->places)
                         : world.assemble(kv.take_weights());
}

Timestamp StepContext::push(const ShardIds& shards, const std::shared_ptr<Values>& gradient) {
  const auto parameters = static_cast<std::int64_t>(world.keys.parameters);
  const std::int64_t blocks = world.scenario.training.feature_blocks;
  return kv.push(shards, clock, gradient, batch_size,
                 blocks > 1 ? feature_block(parameters, blocks, clock) : KeyRange{});
}

double StepContext::flops_of_samples() const {
  const Scenario& scenario = world.scenario;
  double mean = mean_step_seconds(scenario, index) * scenario.cluster.worker.speed.of(index).value;
  const TrainingSpec& training = scenario.training;
  mean *= static_cast<double>(training.local_steps_of(number)) / static_cast<double>(training.local_steps);
  return mean * source.scale();
}

double StepContext::flops_of_step() const {
  double mean = flops_of_samples();
  if (world.workers_update() && !mutant("workers-update-for-nothing"))
    mean += world.scenario.cluster.worker.flops_per_value * static_cast<double>(world.keys.parameters);
  return mean * world.slowness.of_step(index, number);
}

double StepContext::copy_seconds(const ShardIds& shards) const {
  std::size_t values = 0;
  for (const std::uint32_t s : shards) values += world.keys.shards[s].count;
  const auto bytes = static_cast<double>(values * bytes_per_value(world.precision()));
  return values > 0 ? device_copies(world.scenario.cluster.worker_devices, bytes).seconds : 0;
}

double StepContext::both_copies() const {
  return (mutant("only-weights-are-copied") ? 1 : 2) * copy_seconds(kv.all_shards());
}

}  // namespace psim

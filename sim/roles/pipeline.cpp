#include "sim/roles/pipeline.hpp"

#include <utility>

#include "model/mutant.hpp"
#include "model/rounding.hpp"

namespace psim {
namespace {

// Of one step: what all workers would take under bsp.
std::int64_t samples_of(const World& world) {
  return world.scenario.training.batch_size * world.scenario.cluster.workers;
}

std::int64_t micro_batches(const World& world) {
  return micro_batches_of(world.scenario.architecture, world.workers(), samples_of(world));
}

}  // namespace

StageWorker::StageWorker(World& world, Pipeline& pipeline, std::uint32_t index, const Stage& stage,
                         std::size_t inputs, const Values* weights)
    : world_(world),
      pipeline_(pipeline),
      node_(world.first_worker() + index),
      index_(index),
      stage_(stage),
      inputs_(inputs),
      work_(stage_work(world.scenario.architecture.schedule, world.workers(), index, micro_batches(world))),
      replica_(world, weights, stage.parameters),
      mailbox_(world, node_) {}

void StageWorker::run() {
  enter(world_, node_, mailbox_);
  for (; clock_ < world_.steps; ++clock_) step();
  leave(world_, node_, clock_);
}

void StageWorker::step() {
  if (is_first()) pipeline_.start_gradient(clock_);  // every stage has done its last update
  for (std::size_t part = 0; part < work_.size(); ++part) {
    const auto& [direction, micro_batch] = work_[part];
    direction == StageWork::forward ? forward(micro_batch, part) : backward(micro_batch, part);
  }
}

void StageWorker::forward(std::int64_t micro_batch, std::size_t part) {
  if (!is_first()) mailbox_.take(MessageKind::activation, node_ - 1, clock_, micro_batch);
  spend(micro_batch, stage_.forward, part);
  if (!is_last()) send(activation(micro_batch, stage_.outputs), node_ + 1);
}

void StageWorker::backward(std::int64_t micro_batch, std::size_t part) {
  if (!is_last()) mailbox_.take(MessageKind::error, node_ + 1, clock_, micro_batch);
  spend(micro_batch, stage_.backward, part);
  if (part + 1 == work_.size()) update();
  if (!is_first()) send(Errors{activation(micro_batch, inputs_)}, node_ - 1);
}

// Takes the time that this worker would take for `share` of the micro-batch's gradient. Slowness is drawn
// once a step.
void StageWorker::spend(std::int64_t micro_batch, double share, std::size_t part) {
  const auto parts = static_cast<std::int64_t>(work_.size());
  const auto number = static_cast<std::int64_t>(part);
  Computation record{.clock = clock_, .version = replica_.version(), .part = number, .parts = parts};
  world_.record(node_, record);
  const double batches = static_cast<double>(pipeline_.samples_in(micro_batch)) /
                         static_cast<double>(world_.scenario.training.batch_size);
  compute(world_, node_,
          flops_of_step(world_, index_, clock_) * (mutant("micro-batches-cost-alike") ? 1 : batches) * share);
  // A stage computes its part of everybody's batches, which is as much as one batch.
  record.phase = ComputePhase::ended;
  if (record.is_last()) record.samples = world_.scenario.training.batch_size;
  world_.record(node_, record);
}

Activations StageWorker::activation(std::int64_t micro_batch, std::size_t width) const {
  const std::size_t count = pipeline_.samples_in(micro_batch) * width;
  return {.clock = clock_,
          .version = replica_.version(),
          .micro_batch = micro_batch,
          .values = count,
          .bytes = count * bytes_per_value(world_.precision())};
}

void StageWorker::send(Body body, NodeId to) {
  world_.network.send({.from = node_, .to = to, .body = std::move(body)});
}

void StageWorker::update() {
  replica_.update(pipeline_.gradient(replica_.range()), 1.0);
  world_.record(node_, ModelUpdate{.version = replica_.version()});
  if (world_.on_update) world_.on_update();
}

Pipeline::Pipeline(World& world, const Values* weights)
    : world_(world),
      samples_(static_cast<std::size_t>(samples_of(world))),
      micro_batches_(static_cast<std::size_t>(micro_batches(world))) {
  std::size_t inputs = 0;
  for (const Stage& stage : cut_in_stages(world.scenario.model, world.workers())) {
    const auto index = static_cast<std::uint32_t>(stages_.size());
    stages_.push_back(std::make_unique<StageWorker>(world, *this, index, stage, inputs, weights));
    inputs = stage.outputs;
  }
}

std::size_t Pipeline::samples_in(std::int64_t index) const {
  return even_range(samples_, micro_batches_, static_cast<std::size_t>(index)).count;
}

void Pipeline::start_gradient(std::int64_t clock) {
  if (world_.learner == nullptr) return;
  std::vector<std::uint32_t> batch;
  for (std::uint32_t w = 0; w < world_.workers(); ++w) {
    const std::vector<std::uint32_t> part = world_.sampler->batch(w, clock);
    batch.insert(batch.end(), part.begin(), part.end());
  }
  gradient_ = std::make_shared<Values>();
  task_ = world_.pool.submit([weights = world_.assemble(weights()), learner = world_.learner,
                              result = gradient_, batch = std::move(batch), precision = world_.precision(),
                              scale = world_.loss_scale()] {
    *result = learner->gradient(weights->get(), batch);
    round_to(precision, *result, scale);
  });
}

Slice Pipeline::gradient(Range range) {
  if (task_) world_.pool.wait(task_);
  return {gradient_, range.begin, range.count};
}

std::vector<Slice> Pipeline::weights() const {
  std::vector<Slice> parts;
  for (const auto& stage : stages_) parts.push_back(stage->replica().weights());
  return parts;
}

}  // namespace psim

#include "sim/nodes/elastic_step.hpp"

namespace psim {

bool ElasticStep::compute() {
  step_.prepare();
  pull_to_centre();
  const double flops = step_.flops_of_step();
  const double copies = step_.copy_seconds();
  step_.record(ComputePhase::begun);
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
  pushed_ = step_.kv.push(step_.kv.all_shards(), step_.clock, spring, training.batch_size);
}

}  // namespace psim

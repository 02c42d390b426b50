#include "sim/nodes/gradient_step.hpp"

#include <utility>

namespace psim {

bool GradientStep::compute() {
  JobContext& job = step_.job;
  const bool keeps = job.plan.scenario.training.pull_every > 1;
  step_.prepare();
  if (job.plan.rule.cancel && !step_.is_ahead) step_.kv.watch_for_newer(step_.clock);
  const double flops = step_.flops_of_step();
  const double copies = step_.copy_seconds();
  step_.record(ComputePhase::begun);
  LocalWork work = step_.begin(keeps);
  std::shared_ptr<Assembly> weights = step_.on_own_copy ? nullptr : step_.take_weights(work.keys.get());
  task_.start(std::move(weights), std::move(work));
  if (!step_.processor.copy(copies) || !step_.processor.compute(flops)) {
    task_.cancel();
    step_.record(ComputePhase::cancelled);
    return false;
  }
  task_.wait();
  step_.record(ComputePhase::ended, step_.source.in_hand());
  step_.source.computed(step_.processor.seconds());
  return true;
}

Timestamp GradientStep::push() { return step_.push(step_.kv.all_shards(), task_.take()); }

void GradientStep::on_arrival(const Message& message) {
  if (step_.job.plan.rule.cancel && step_.kv.is_expected(message)) step_.processor.stop();
}

}  // namespace psim

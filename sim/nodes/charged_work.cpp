#include "sim/nodes/charged_work.hpp"

#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/pace.hpp"

namespace psim {

double flops_of_samples(const JobContext& job, std::uint32_t index, std::int64_t local_steps, double scale) {
  const Scenario& scenario = job.plan.scenario;
  double mean = mean_step_seconds(scenario, index) * scenario.cluster.worker.speed.of(index).value;
  const TrainingSpec& training = scenario.training;
  mean *= static_cast<double>(local_steps) / static_cast<double>(training.local_steps);
  return mean * scale;
}

double all_copies(const JobContext& job, std::size_t values, std::int64_t local_steps) {
  const auto bytes = static_cast<double>(values * bytes_per_value(job.plan.precision()));
  if (values == 0 || !job.plan.scenario.cluster.worker_devices.bus()) return 0;
  return copies_of_clock(job.plan.scenario, bytes, local_steps).seconds;
}

}  // namespace psim

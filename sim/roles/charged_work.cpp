#include "sim/roles/charged_work.hpp"

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

double copy_seconds(const JobContext& job, std::size_t values) {
  const auto bytes = static_cast<double>(values * bytes_per_value(job.plan.precision()));
  return values > 0 ? device_copies(job.plan.scenario.cluster.worker_devices, bytes).seconds : 0;
}

}  // namespace psim

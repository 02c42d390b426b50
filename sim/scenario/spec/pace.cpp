#include "sim/scenario/spec/pace.hpp"

#include <algorithm>
#include <cmath>

#include "sim/scenario/spec/activations.hpp"
#include "sim/scenario/spec/devices.hpp"

namespace psim {
namespace {

// A run that never reaches its target ends after this number of passes over the data.
constexpr double epochs_without_end = 1000;

}  // namespace

double mean_gradient_seconds(const Scenario& s, std::size_t worker) {
  const auto batches = static_cast<double>(s.training.batches_per_clock());
  const double devices = devices_time_ratio(s, worker);
  if (const std::optional<double> seconds = s.compute.traced_seconds(static_cast<std::uint32_t>(worker)))
    return devices * batches * *seconds;
  const double speed = s.cluster.worker.speed.of(worker).value;
  if (s.compute.time) {
    const FlopsPerSecond usual = s.compute.time_speed.value_or(s.cluster.worker.speed.of(0));
    return devices * batches * s.compute.time->value * (usual.value / speed);
  }
  return devices * batches * flops_per_sample(s.model) * static_cast<double>(s.training.batch_size) / speed;
}

std::int64_t batches_of_workers(const Scenario& scenario) {
  if (!scenario.consistency.model->has_tasks()) return scenario.cluster.workers;
  const Program program = parse_program(scenario.tasks, scenario.cluster.workers).program;
  return std::max<std::int64_t>(1, tasks_of(program, TaskKind::gradient));
}

std::int64_t steps_that_fit(double time, double step) {
  constexpr double rounding = 1e-9;  // five steps of 10 ms fit in 50 ms, despite rounding of their time
  if (!(step > 0)) return 1;
  const double all = std::floor(time / step * (1 + rounding));
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::min(all, static_cast<double>(most_local_steps))));
}

std::int64_t mean_local_steps(const Scenario& s, std::size_t worker) {
  if (!s.training.local_time) return s.training.local_steps;
  return steps_that_fit(s.training.local_time->value, mean_step_seconds(s, worker));
}

double batches_per_clock(const Scenario& s) {
  if (!s.training.local_time) return static_cast<double>(s.training.batches_per_clock());
  std::int64_t all = 0;
  for (std::int64_t w = 0; w < s.cluster.workers; ++w)
    all += mean_local_steps(s, static_cast<std::size_t>(w));
  return static_cast<double>(all * s.training.accumulate) / static_cast<double>(s.cluster.workers);
}

double batches_more_at_first(const Scenario& s) {
  if (!s.training.local_time) return static_cast<double>(s.training.batches_more_at_first());
  if (s.training.warmup_steps == 0) return 0;
  return static_cast<double>(s.training.warmup_steps * s.training.accumulate) - batches_per_clock(s);
}

double mean_step_seconds(const Scenario& s, std::size_t worker) {
  return mean_gradient_seconds(s, worker) * recompute_factor(s);
}

std::int64_t machines_with_data(const Scenario& s) {
  return s.architecture.is_on_one_machine() ? 1 : s.cluster.workers;
}

std::int64_t samples_per_step(const Scenario& s) {
  return s.training.batch_size * (s.architecture.is_on_one_machine() ? 1 : batches_of_workers(s));
}

std::optional<std::int64_t> steps_of(const Scenario& scenario, std::int64_t training_samples) {
  const TrainingSpec& training = scenario.training;
  std::optional<double> epochs = training.epochs;
  if (!epochs && !training.steps && !training.samples && !training.duration) epochs = epochs_without_end;
  std::optional<std::int64_t> steps = training.steps;
  const auto end_after = [&](double all) {
    const std::int64_t samples = samples_per_step(scenario);
    const double per_clock = static_cast<double>(samples) * batches_per_clock(scenario),
                 more_at_first = static_cast<double>(samples) * batches_more_at_first(scenario);
    const auto clocks =
        static_cast<std::int64_t>(std::max(1.0, std::ceil((all - more_at_first) / per_clock)));
    steps = std::min(steps.value_or(clocks), clocks);
  };
  if (epochs) end_after(*epochs * static_cast<double>(training_samples));
  if (training.samples) end_after(static_cast<double>(*training.samples));
  return steps;
}

}  // namespace psim

// The time of a computation relative to its mean: compute-time distributions and stragglers.
// Pure functions of (seed, worker, step) and of simulated time; no SimGrid.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Slowness of each step of each worker; mean 1 over steps (a trace of factors: the file's own mean).
class Slowness {
 public:
  // `mean_steps`: by worker, the mean time of a step in seconds, which includes `shift`.
  Slowness(ComputeSpec spec, std::vector<StragglerSpec> stragglers, std::uint64_t seed,
           std::vector<double> mean_steps, std::vector<ProfileSpec> profiles = {});

  // Factor on the work of step `step` (0, 1, ...): distribution times random stragglers.
  double of_step(std::uint32_t worker, std::int64_t step);

  // Factor on the worker's speed at a date, from permanent, windowed and periodic stragglers, and from
  // profiles.
  double speed_factor(std::uint32_t worker, double now) const;
  // The next date after `now` when speed_factor may change; none if it never changes.
  std::optional<double> next_change(std::uint32_t worker, double now) const;

 private:
  struct Effect {
    std::vector<StepState> states;  // by worker
    std::vector<double> drawn;      // of a shared effect: by step
  };
  double draw(std::uint32_t worker, std::int64_t step);
  double of_effect(std::size_t index, std::uint32_t worker, std::int64_t step);
  double of_factor(const FactorSpec& factor, std::uint64_t seed, std::vector<StepState>& states,
                   std::uint32_t worker, std::int64_t step) const;

  ComputeSpec spec_;
  std::vector<StragglerSpec> stragglers_;
  std::vector<ProfileSpec> profiles_;
  std::uint64_t seed_;
  std::vector<double> mean_steps_;
  std::vector<StepState> states_;  // of the factor of all workers, by worker
  std::vector<Effect> effects_;
};

}  // namespace psim

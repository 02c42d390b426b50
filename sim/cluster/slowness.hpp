// How long a computation takes compared with its mean: the compute-time distributions and the stragglers.
// Pure functions of (seed, worker, step) and of simulated time; no SimGrid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/units.hpp"

namespace psim {

enum class Distribution {
  constant, uniform, exponential, shifted_exponential, pareto, gamma, lognormal, markov, trace
};

struct ComputeSpec {
  Distribution distribution = Distribution::constant;
  double cv = 0.1;                  // uniform, gamma, lognormal: standard deviation / mean
  std::optional<Seconds> time;      // mean time of a step, instead of flops / speed
  double alpha = 2.5;               // pareto: tail exponent, > 1
  Seconds shift{0};                 // shifted-exponential: the part that is always there
  double slowdown = 5;              // markov: factor of the slow state
  double enter = 0.05;              // markov: probability per step of becoming slow
  double leave = 0.25;              // markov: probability per step of becoming fast again
  std::string trace;                // trace: file with one row per step, one column, or one per worker
  std::vector<std::vector<double>> trace_rows;  // the file's content, filled in by the loader
};

struct StragglerSpec {
  std::vector<std::int64_t> workers;
  double slowdown = 2;
  std::optional<Seconds> from;
  std::optional<Seconds> until;
  std::optional<Seconds> every;
  std::optional<double> probability;
};

// Slowness of each step of each worker; mean 1 over steps (trace: the file's own mean).
class Slowness {
 public:
  // `mean_step`: mean time of a step in seconds, on which `shift` is measured.
  Slowness(ComputeSpec spec, std::vector<StragglerSpec> stragglers, std::uint64_t seed, double mean_step);

  // Factor on the work of step `step` (0, 1, ...): distribution times random stragglers.
  double of_step(std::uint32_t worker, std::int64_t step);

  // Factor on the worker's speed at a date, from permanent, windowed and periodic stragglers; at most 1.
  double speed_factor(std::uint32_t worker, double now) const;
  // The next date after `now` when speed_factor may change; nothing when it never does.
  std::optional<double> next_change(std::uint32_t worker, double now) const;

 private:
  double draw(std::uint32_t worker, std::int64_t step);
  bool slow_state(std::uint32_t worker, std::int64_t step);

  ComputeSpec spec_;
  std::vector<StragglerSpec> stragglers_;
  std::uint64_t seed_;
  double mean_step_;
  struct Chain {
    std::int64_t step = -1;
    bool slow = false;
  };
  std::vector<Chain> chains_;
};

}  // namespace psim

// What the step times of a log are like: a mean for each worker, an effect that all workers share in a step,
// and the memory of both. docs/calibrate.md gives the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/statistics/sample.hpp"

namespace psim::calibrate {

// The steps that all workers have, side by side.
struct StepTimes {
  std::vector<std::int64_t> workers;         // their names in the log
  std::vector<std::vector<double>> compute;  // by step and worker: seconds
  std::vector<std::vector<double>> rest;     // the same for push + pull; empty: not logged
  std::vector<std::int64_t> steps = {};      // their numbers in the log

  std::size_t size() const { return compute.size(); }
  StepTimes part(std::size_t begin, std::size_t end) const;
  // By step: the longest computation.
  std::vector<double> slowest() const;
};

// Of every worker, for a fit or a verdict.
inline constexpr std::size_t fewest_steps = 10;

// Throws LogError if too little is left. Adds notes about steps that it leaves out: gaps, and the slow first
// steps of a warm-up. `skip`: the number of first steps that the user leaves out; nothing: a warm-up.
StepTimes step_times(const StepLog& log, std::optional<std::int64_t> skip, std::vector<std::string>& notes);

// Autocorrelation of a series at lags 0 to `lags`; 0 for a constant series.
std::vector<double> autocorrelation(std::span<const double> series, std::size_t lags);

// The number of steps over which a series remembers: 1 + 2 * (sum of its autocorrelations until the first
// that chance explains), at least 1. Chance: 2 / sqrt(n).
double memory_of(std::span<const double> series);

// Length of the blocks of a block bootstrap of the series' mean (Politis, White 2004, for circular blocks,
// with the correction of Patton, Politis, White 2009), in steps; at least 1.
double best_block(std::span<const double> series);

// The value below which a share of the values lies, between neighbouring values linear.
double quantile_of(std::vector<double> values, double share);

struct StepFit {
  std::vector<double> means;                    // by worker, in seconds
  std::vector<statistics::Interval> intervals;  // 95 %, of the means
  double cv = 0;                                // of a step around its worker's mean
  double shared = 0;                            // share of this variance that all workers have together
  double memory = 1;                            // of the workers' own series, the median
  double shared_memory = 1;                     // of the effect that all workers have together
  std::int64_t block = 1;                       // steps of a block for resampling
};
StepFit fit_steps(const StepTimes& times);

// The rows of resampled log `draw`: a moving block bootstrap of `steps` rows.
std::vector<std::size_t> drawn_rows(std::size_t steps, std::int64_t block, std::uint64_t draw);
inline constexpr std::uint64_t bootstrap_draws = 399;

}  // namespace psim::calibrate

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
  // By step: the computation of a worker.
  std::vector<double> of_worker(std::size_t worker) const;
  // By step: the longest computation; the longest one over the mean one; and the mean over workers of
  // computation, push and pull.
  std::vector<double> slowest() const;
  std::vector<double> imbalances() const;
  std::vector<double> mean_durations() const;
};

// Of every worker: for a fit, and for each part of a verdict.
inline constexpr std::size_t fewest_steps = 3, fewest_judged = 10;

// Throws LogError if too little is left. Adds notes about steps that it leaves out: gaps, and the slow first
// steps of a warm-up. `skip`: the number of first steps that the user leaves out; nothing: a warm-up.
StepTimes step_times(const StepLog& log, std::optional<std::int64_t> skip, std::vector<std::string>& notes);

struct StepFit {
  std::vector<double> means;                    // by worker, in seconds
  std::vector<statistics::Interval> intervals;  // 95 %, of the means
  double cv = 0;                                // of a step around its worker's mean
  double shared = 0;                            // share of this variance that all workers have together
  double memory = 1;                            // of the worker with the longest one
  double shared_memory = 1;                     // of the effect that all workers have together
  std::int64_t block = 1;                       // steps of a block for resampling
  bool in_step = false;                         // all workers of a cluster take the same times
};
StepFit fit_steps(const StepTimes& times);

// Properties of a series of step times: how long it remembers, and how well its mean is known.

// Autocorrelation of a series at lags 0 to `lags`; 0 for a constant series.
std::vector<double> autocorrelation(std::span<const double> series, std::size_t lags);

// The number of steps over which a series remembers: 1 + 2 * (sum of its autocorrelations until the first
// that chance explains), at least 1. Chance: 2 / sqrt(n).
double memory_of(std::span<const double> series);

// Length of the blocks of a block bootstrap of the series' mean (Politis, White 2004, for circular blocks,
// with the correction of Patton, Politis, White 2009), in steps; at least 1.
double best_block(std::span<const double> series);

// The means of equal parts of a series, one after the other; at most as many parts as values.
std::vector<double> means_of_parts(std::span<const double> series, std::size_t parts);

// The mean of a series whose values depend on the values before them.
struct Mean {
  double value = 0;
  double error = 0;    // standard error
  double freedom = 1;  // degrees of freedom of the error, a whole number
};
// The error is that of the slowest waves of the series, which a cosine transform finds: 0.4 n^(2/3) of them
// (Lazarus, Lewis, Stock, Watson 2018), fewer in a series that remembers long, and at least 3.
Mean mean_with_error(std::span<const double> series);
// 95 %, by Student's t.
statistics::Interval interval_of(const Mean& mean);
// The means of two series with the same true mean differ by more with this probability only.
double chance_difference(const Mean& one, const Mean& other, double probability);

// How long a server works on what workers push.

// A server's time for a push, in seconds: the mean over all steps of all workers.
struct ServerWork {
  double seconds = 0;
  statistics::Interval interval = {};  // 95 %, from the means of the workers' steps
  std::size_t pushes = 0;
};

// Nothing: the log has no such times.
std::optional<ServerWork> server_work(const StepLog& log);

}  // namespace psim::calibrate

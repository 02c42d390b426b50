// Which workers are slow for a long time: the scheduler's rule (Dean, Barroso, The tail at scale, CACM 2013:
// latency-induced probation). Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace psim {

class SlowNodes {
 public:
  // `window`: reports over which each worker's mean is taken.
  SlowNodes(std::size_t workers, double factor, std::int64_t window)
      : factor_(factor), window_(static_cast<std::size_t>(window)), times_(workers), found_(workers, false) {}

  struct Found {
    double seconds, median;  // its mean time per sample, and the median of the others' means
  };
  // Worker `worker` took `seconds` a sample in a clock. Returns a result if the worker is slow, once in each
  // life of the worker: its mean over a full window is above `factor` times the median of the other workers
  // with a full window. At least one other worker must have a full window.
  std::optional<Found> report(std::size_t worker, double seconds);
  // The worker takes no part any more.
  void forget(std::size_t worker) { times_[worker].clear(); }
  // The worker has been started again: results of its last life say nothing about this one.
  void begins_anew(std::size_t worker) {
    forget(worker);
    found_[worker] = false;
  }

 private:
  std::optional<double> mean(std::size_t worker) const;

  double factor_;
  std::size_t window_;
  std::vector<std::deque<double>> times_;
  std::vector<bool> found_;
};

}  // namespace psim

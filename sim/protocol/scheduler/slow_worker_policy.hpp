// The treatment of workers that are slow for a long time. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/protocol/ids.hpp"

namespace psim {

// Which workers are slow for a long time: the scheduler's rule (Dean, Barroso, The tail at scale, CACM 2013:
// latency-induced probation). Pure.
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

// A flagged worker stays; a removed one leaves; a replaced one leaves and a spare starts.
enum class SlowAction : std::uint8_t { flag, remove, replace };

class SlowWorkerPolicy {
 public:
  struct Options {
    NodeId first_worker = 1;
    std::uint32_t workers = 1;
    double factor = 2;
    std::int64_t window = 5;
    SlowAction action = SlowAction::flag;
    std::vector<NodeId> spares = {};  // in the order of their use
  };
  explicit SlowWorkerPolicy(Options options)
      : options_(std::move(options)), search_(options_.workers, options_.factor, options_.window) {}

  struct Verdict {
    SlowNodes::Found found;
    SlowAction action = SlowAction::flag;
    std::optional<NodeId> spare = {};  // the spare that starts
  };
  // The worker took `seconds` a sample in a clock.
  std::optional<Verdict> report(NodeId worker, double seconds);
  // Whether it must leave. The request may get lost, so the scheduler repeats it with the next report.
  bool is_unwanted(NodeId worker) const { return unwanted_.contains(worker); }
  // The node is suspected.
  void forget(NodeId node) {
    if (is_worker(node)) search_.forget(node - options_.first_worker);
  }
  // The node has been started again.
  void begins_anew(NodeId node);

 private:
  bool is_worker(NodeId node) const {
    return node >= options_.first_worker && node < options_.first_worker + options_.workers;
  }

  Options options_;
  SlowNodes search_;
  std::set<NodeId> unwanted_;
};

}  // namespace psim

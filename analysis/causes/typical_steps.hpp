// The typical length of a part of a computation: the median, over workers, of the median of each worker.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

class TypicalSteps {
 public:
  explicit TypicalSteps(const CausalGraph& graph);

  // The typical seconds of a computation like the one that ends at this moment; infinity, if none of its kind
  // ended.
  double of(const Moment& end) const;
  // Whether nearly all steps of a worker take longer than typical, so that chance does not explain it.
  bool is_always_slow(std::uint32_t worker) const;
  // By worker: mean seconds of a step with all its parts.
  std::map<std::uint32_t, double> by_worker() const;

 private:
  using PartOfStep = std::pair<std::uint8_t, std::uint32_t>;  // kind of computation, and its part
  std::map<PartOfStep, std::map<std::uint32_t, std::vector<double>>> durations_;  // by worker
  std::map<PartOfStep, double> typical_;
};

// The quantile at `share`; between two values the lower one. 0 without values.
double quantile(std::vector<double> values, double share);

}  // namespace psim::analysis

// How long a part of a computation typically takes: the median over workers of each one's median.
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

  // Seconds; of a computation that ends with this moment. Infinity, if none of its kind ended.
  double of(const Moment& end) const;
  // Whether nearly all of a worker's steps take longer than is typical: it is no chance.
  bool is_always_slow(std::uint32_t worker) const;
  // By worker: seconds of a step with all its parts, in the mean.
  std::map<std::uint32_t, double> by_worker() const;

 private:
  using PartOfStep = std::pair<std::uint8_t, std::uint32_t>;  // what is computed, and which part of it
  std::map<PartOfStep, std::map<std::uint32_t, std::vector<double>>> durations_;  // by worker
  std::map<PartOfStep, double> typical_;
};

// The value below which this share of the values is, at least; of two the lower one. 0 without values.
double quantile(std::vector<double> values, double share);

}  // namespace psim::analysis

// Horovod's time line of rank 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/trace_events.hpp"

namespace psim::calibrate {

// Each negotiation of a tensor has a tick for every rank that is ready. When the all-reduce ends, the step of
// the tensor has ended. A rank computes from the end of the previous step to its tick for the last tensor of
// the step.
//
// Step i is the i-th round of each tensor of the gradient. Other tensors, such as a metric after each epoch,
// have fewer or more rounds: psim takes the number of rounds to which most negotiations belong.
class HorovodSteps {
 public:
  void take(const TraceEvent& event);

  // Adds the steps and returns whether there are any.
  bool put(const std::string& path, ClusterLog& log) const;

 private:
  struct Tick {
    std::size_t round;
    std::int64_t rank;
    double date;  // microseconds
  };
  struct Tensor {
    std::vector<double> ends;  // by round: microseconds
    std::vector<Tick> ticks;
    bool is_negotiating = false;
  };
  std::size_t usual_rounds() const;

  std::map<std::string, Tensor> tensors_;
};

}  // namespace psim::calibrate

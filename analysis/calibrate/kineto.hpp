// The steps of one rank in a trace of PyTorch's profiler (Kineto).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/trace_events.hpp"

namespace psim::calibrate {

// A worker's step is a span `ProfilerStep#N`. It computes for the whole span but for the time in which
// nothing but communication runs: kernels of nccl or rccl, or where there are none, annotations such as
// `gloo:all_reduce`. So a stall of the input counts as computation, and a kernel that waits for a slower rank
// does not.
class KinetoSteps {
 public:
  using Spans = std::vector<std::pair<double, double>>;  // begin and end, in microseconds

  // `event` begins at `begin` and lasts for `us`.
  void take(const TraceEvent& event, const std::string& name, double begin, double us);

  // Numbers the steps: spans are steps of their own although a name comes twice, as in PyTorch 1.13.
  void number(const std::string& path, ClusterLog& log);

  bool is_empty() const { return tracks_.empty(); }
  bool is_profiler() const { return is_profiler_; }

  // The step of the process, or else of the rank, in which a date lies.
  std::optional<std::int64_t> step_at(const std::string& process, double date) const;

  void put(const std::string& path, std::int64_t worker, ClusterLog& log) const;

 private:
  struct Step {
    double begin, end;
    std::int64_t number;
  };
  struct Track {
    std::vector<Step> steps;
    double total = 0;
  };
  const Track& longest(const std::string& process) const;

  std::map<std::pair<std::string, std::string>, Track> tracks_;  // by process and thread
  Spans kernels_, annotations_;                                  // of communication
  Spans computing_, operators_;                                  // of devices, and of the host
  bool is_profiler_ = false, has_device_ = false;                // events of PyTorch, and of a device
};

}  // namespace psim::calibrate

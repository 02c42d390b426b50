// The events of a trace in Chrome's JSON format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

// The parts of an event that psim uses. Times are in microseconds.
struct TraceEvent {
  std::string name, phase, category, process, thread;
  double begin = 0, duration = 0;
  std::optional<std::int64_t> step;
};

// Where the numbers of ranks stand in a name: ProfilerStep#12.
std::optional<std::int64_t> last_number_in(const std::string& name);

struct TraceEnd {
  std::size_t broken_at = 0;         // where the JSON breaks off or is wrong, in bytes; 0: it is whole
  bool loses_events = false;         // more events follow, and cannot be read
  std::optional<std::int64_t> rank;  // that the file names
};

// Hands over the events one by one. `step_arg`: the argument with the number of the step.
TraceEnd read_trace(std::istream& in, const std::string& step_arg,
                    const std::function<void(const TraceEvent&)>& take);

// The steps of one rank in a trace of PyTorch's profiler (Kineto).

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

// The events of a trace in Chrome's JSON format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>

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

}  // namespace psim::calibrate

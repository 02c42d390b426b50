// What the code of a run says about itself, in release builds, too. expects() states what it takes for
// granted. PSIM_PROBE names a rare state where the code handles it: a takeover during a takeover, a push that
// overtakes a view. `psim fuzz` lists the states that none of its runs has reached. A probe costs one store.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace psim {

inline std::int64_t seed_of_this_run = -1;  // a process makes one run

struct BrokenExpectation : std::logic_error {
  using std::logic_error::logic_error;
};

inline std::string_view in_project(std::string_view path) { return path.substr(path.rfind("sim/")); }

// Throws BrokenExpectation, with the place and the run's seed.
inline void expects(bool holds, const char* expected,
                    const std::source_location& at = std::source_location::current()) {
  if (holds) [[likely]]
    return;
  throw BrokenExpectation(fmt::format("{}:{}: {}: this does not hold in a run of seed {}",
                                      in_project(at.file_name()), at.line(), expected, seed_of_this_run));
}

struct Probe {
  Probe(std::string_view state_here, std::string_view path, int line_here);
  std::string_view state, file;  // a sentence; "sim/nodes/worker/worker.cpp"
  int line;
  std::atomic<bool> is_reached = false;
};

// The probes of the program, in no order. They are static objects, and the list exists before the first one.
inline std::vector<const Probe*>& all_probes() {
  static std::vector<const Probe*> all;
  return all;
}

inline Probe::Probe(std::string_view state_here, std::string_view path, int line_here)
    : state(state_here), file(in_project(path)), line(line_here) {
  all_probes().push_back(this);
}

// The states that this process has reached.
inline std::vector<std::string_view> reached_states() {
  std::vector<std::string_view> states;
  for (const Probe* probe : all_probes()) {
    if (probe->is_reached) states.push_back(probe->state);
  }
  return states;
}

template <class At>
inline Probe probe_at = At{}();

template <class At>
bool note_state(bool is_there, At) {
  if (is_there) probe_at<At>.is_reached.store(true, std::memory_order_relaxed);
  return is_there;
}

}  // namespace psim

// Whether CONDITION holds; then the run has reached STATE.
#define PSIM_PROBE(CONDITION, STATE) \
  ::psim::note_state(static_cast<bool>(CONDITION), [] { return ::psim::Probe(STATE, __FILE__, __LINE__); })

// The window that a time line shows first, on pages and terminals.
#pragma once

#include <optional>
#include <string>

#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

// The first fault after the start of the run. Dates are simulated seconds.
struct FirstFault {
  double at = 0, until = 0;  // until: all nodes know of it, or it is over; otherwise `at`
  std::string node, what;    // "server 1", "crash"
};
std::optional<FirstFault> first_fault(const Timeline& line);

struct Opening {
  double from = 0, until = 0;
};
// The window around the first fault, with some clocks before and after it; without a fault the first clocks.
Opening opening_of(const Timeline& line);

}  // namespace psim::analysis

// Where a time line opens: a page's, and that of a terminal.
#pragma once

#include <optional>
#include <string>

#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

// The first fault after the run's begin. Dates are simulated seconds.
struct FirstFault {
  double at = 0, until = 0;  // until: everybody was told of it, or it was over; else `at`
  std::string node, what;    // "server 1", "crash"
};
std::optional<FirstFault> first_fault(const Timeline& line);

struct Opening {
  double from = 0, until = 0;
};
// Around the first fault, with some clocks before it and after it; without a fault the first clocks.
Opening opening_of(const Timeline& line);

}  // namespace psim::analysis

// A time line drawn with characters, for a terminal: a line a node, and below it what the letters mean and
// whom waits were for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/timeline/choice.hpp"
#include "analysis/timeline/spans.hpp"

namespace psim::analysis {

struct TimelineText {
  double from = 0, until = 0;  // simulated seconds
  int width = 86;              // characters of a line, 40 at least
  std::size_t most_lanes = lanes_of_a_page;
  bool colour = false;
};

std::string text_of(const Timeline& line, const TimelineText& options);

// When every worker has computed its first `clocks` clocks, or has left; the end of the run where nobody
// computes a later one.
double end_of_clocks(const Timeline& line, std::int64_t clocks);

}  // namespace psim::analysis

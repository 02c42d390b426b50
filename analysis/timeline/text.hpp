// A time line drawn with characters, for a terminal: one line per node; below it the meanings of letters, and
// the nodes that waits were for.
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

// The date when every worker has computed its first `clocks` clocks, or has left; the end of the run if no
// worker computes more clocks.
double end_of_clocks(const Timeline& line, std::int64_t clocks);

}  // namespace psim::analysis

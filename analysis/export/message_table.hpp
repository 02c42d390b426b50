// The messages of a run as a table for a terminal, in the order in which they were sent.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/export/recording.hpp"

namespace psim::analysis {

struct MessageTable {
  double from = 0, until = 0;  // simulated seconds: those that were sent then
  std::size_t most = 100;      // lines; what is left out is said
  std::size_t width = 86;      // characters of a line
};

// Without heartbeats, which say nothing of a step: their number stands below.
std::string message_table(const Recording& recording, const MessageTable& options);

}  // namespace psim::analysis

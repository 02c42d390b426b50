// The messages of a run as a table for a terminal, in the order in which they were sent.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/export/recording.hpp"

namespace psim::analysis {

struct MessageTable {
  double from = 0, until = 0;  // simulated seconds: messages sent in this time
  std::size_t most = 100;      // lines; a note tells how many are left out
  std::size_t width = 86;      // characters of a line
};

// Heartbeats are left out, because they belong to no step; their number stands below the table.
std::string message_table(const Recording& recording, const MessageTable& options);

}  // namespace psim::analysis

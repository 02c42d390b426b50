// The request for a study.
#pragma once

#include <string>

#include "sim/runs/outcome.hpp"
#include "sim/runs/request.hpp"

namespace psim::study {

// A scenario with axes, and how its runs are made.
struct Request : RunRequest {
  std::string seeds;  // an axis of seeds, separated by commas; empty: the scenario's
  unsigned jobs = 0;  // processes at once; 0: as many as the machine has processors
};

// The command line that makes the study: "psim compare FILE --seeds 1,2".
std::string compare_line(const Request& request, const std::string& program = "psim compare");

}  // namespace psim::study

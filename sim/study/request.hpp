// The request for a study.
#pragma once

#include <string>

#include "sim/runs/outcome.hpp"
#include "sim/runs/request.hpp"

namespace psim::study {

// A scenario with axes, and options of its runs.
struct Request : RunRequest {
  std::string seeds;  // an axis of seeds, separated by commas; empty: the seeds of the scenario
  unsigned jobs = 0;  // processes at the same time; 0: one per core
};

// The command line that makes the study: "psim compare FILE --seeds 1,2".
std::string compare_line(const Request& request, const std::string& program = "psim compare");

}  // namespace psim::study

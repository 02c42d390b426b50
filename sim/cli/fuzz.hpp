// Random scenarios in great numbers.
#pragma once

#include <cstdint>
#include <string>

namespace psim::cli {

struct FuzzCommand {
  std::int64_t seed = 1;
  std::int64_t first = 0;  // number of the first run
  std::int64_t runs = 0;   // 0: until time is up
  double seconds = 0;      // of wall-clock time; 0: until all runs are done
  unsigned jobs = 0;       // at once; 0: as many as the machine has cores
  std::string out = "fuzz-failures";
};

int fuzz(const FuzzCommand& command);

}  // namespace psim::cli

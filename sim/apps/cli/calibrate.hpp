// psim calibrate.
#pragma once

#include <string>

#include "sim/calibrate/calibrate.hpp"

namespace psim::cli {

struct CalibrateCommand {
  calibrate::Request request;
  std::string out;                        // the folder
  std::string model_bytes;                // a size such as "100MB"
  std::int64_t workers = 0, servers = 0;  // 0: not given
  bool json = false, force = false;
};

}  // namespace psim::cli

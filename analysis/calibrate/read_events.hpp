// Reads the steps of workers out of a trace of events in Chrome's JSON format, piece by piece.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/calibrate/step_log.hpp"

namespace psim::calibrate {

// Throws LogError if no event gives a step.
void read_events(const std::string& path, std::int64_t number, const EventNames& names, ClusterLog& log);

}  // namespace psim::calibrate

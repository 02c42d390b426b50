// The least time of a message on the slowest route of heartbeats.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Seconds from a server or worker to the scheduler over unused links: the latencies of all links of the
// route, times the factor of the flow model.
double slowest_heartbeat(const Scenario& scenario);

}  // namespace psim

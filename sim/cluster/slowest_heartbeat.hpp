// How long a message takes at least on the slowest way that heartbeats take.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Seconds from a server or worker to the scheduler over unused links: the latencies of all links of the way,
// times what the flow model makes of them.
double slowest_heartbeat(const Scenario& scenario);

}  // namespace psim

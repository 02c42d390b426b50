// The weight of a message on a link that it shares with others, for both carriers.
//
// A flow's share is proportional to its weight 1 / latency; with TCP, it is proportional to 1 / round-trip
// time. Perfect max-min sharing keeps identical workers in lock-step for ever: all push together, all pull
// together, nothing overlaps, and asp is as slow as bsp. Real systems do not behave like this. So the end of
// a message has more weight (turns.hpp). share_spread = 0 is the textbook case.
#pragma once

#include <cstdint>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// The factors of a flow model on the scenario's latencies and bandwidths. lv08, SimGrid's default, has
// 13.01 x latency and 0.97 x bandwidth, calibrated on TCP (Velho, Legrand 2009), with a window of 4 MiB. cm02
// without a window is latency + bytes / bandwidth.
struct FlowModel {
  double latency = 1, bandwidth = 1;  // factors
  double window = 0;                  // bytes per round trip; 0: no limit
  double weight = 0;                  // bytes: each link adds this / bandwidth to the divisor of the weight
};
FlowModel flow_model(const NetworkSpec& network);

// Bytes of acknowledgements in the opposite direction per byte of a message, as in SimGrid.
inline constexpr double share_of_acknowledgements = 0.05;

// The weight of a message. `latency`: of its route; `slowness`: seconds per byte, summed over the route's
// links.
double share_weight(const NetworkSpec& network, double latency, double slowness);

// Share of a route's latency that SimGrid counts for a flow of weight 1 (fluid_carrier.hpp).
inline constexpr double own_latency = 1.0 / 16;

// SimGrid gets latencies in seconds times this unit; the delay of a flow divides by it again. SimGrid treats
// values below a fixed precision as zero (maxmin/precision). The sum of a hundred flows' weights of a million
// each has a larger rounding error, and SimGrid then ends the process. The unit makes the weights smaller. A
// power of two changes no digit.
double latency_unit(const NetworkSpec& network);

}  // namespace psim

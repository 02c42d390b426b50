// What a message gets where it shares a link with others, for both carriers.
//
// A flow's share is proportional to its weight, 1 / latency, as TCP's is to 1 / round-trip time. Perfect
// max-min sharing keeps identical workers in lock-step for ever: all push together, all pull together,
// nothing overlaps, and asp comes out as slow as bsp, which no real system shows. So the end of a message
// weighs more (turns.hpp). share_spread = 0 is the textbook case.
#pragma once

#include <cstdint>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Times and bandwidths that a flow model makes of the scenario's. lv08, SimGrid's default, is 13.01 x latency
// and 0.97 x bandwidth, calibrated on TCP (Velho, Legrand 2009), with a window of 4 MiB. cm02 without a
// window is latency + bytes / bandwidth.
struct FlowModel {
  double latency = 1, bandwidth = 1;  // factors
  double window = 0;                  // bytes per round trip; 0: no limit
  double weight = 0;                  // bytes: a link adds this / bandwidth to what divides the weight
};
FlowModel flow_model(const NetworkSpec& network);

// Bytes of acknowledgements in the opposite direction, per byte of a message, as SimGrid has it.
inline constexpr double share_of_acknowledgements = 0.05;

// Of a message. `latency`: its way's; `slowness`: seconds per byte of all links of its way together.
double share_weight(const NetworkSpec& network, double latency, double slowness);

// Latencies as SimGrid gets them, in seconds times this, and made seconds again when they delay a flow. What
// SimGrid takes for zero is fixed (maxmin/precision). The sum of some hundred flows' weights of a million
// each has a larger rounding error than that, and SimGrid ends the process. A power of two changes no digit.
double latency_unit(const NetworkSpec& network);

}  // namespace psim

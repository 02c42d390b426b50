// A pipeline over the devices of one machine: the devices are the stages, and the machine's bus is their
// network. For the simulation they are ordinary nodes, on a platform that this file makes.
//
// Without peer access every message goes through host memory, over the host's link, which all devices share:
// it has half of the bandwidth and twice the latency. With peer access a device has a port to the bus's
// switch with peer_bandwidth (by default the bandwidth of the bus) in each direction, and a message goes
// through two ports. The scheduler is on the host. Costs of messages at their ends, and TCP's uneven sharing
// of links, exist only on networks.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// The scenario with the bus instead of the network, if its stages are the devices of one machine; otherwise
// the unchanged scenario.
Scenario on_its_bus(const Scenario& scenario);

}  // namespace psim

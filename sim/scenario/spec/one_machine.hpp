// A pipeline over the devices of one machine: the devices are the stages, and the machine's bus is their
// network. To the simulation they are nodes like others, on a platform that is made here.
//
// Without peer access every message goes up to host memory and down again, over the host's link, which all
// share: half of its bandwidth, and twice its latency. With it a device has a port to the bus's switch, as
// fast as peer_bandwidth (or else the bus) each way, and a message goes through two of them. The scheduler is
// on the host. What messages cost at their ends and how unevenly TCP shares links belongs to networks.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// The scenario with the bus in the place of the network, if its stages are the devices of one machine; else
// as it is.
Scenario on_its_bus(const Scenario& scenario);

}  // namespace psim

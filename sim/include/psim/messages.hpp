// The messages between nodes, their names and sizes, as events and faults name them (docs/network.md).
#pragma once

#include "sim/protocol/message.hpp"

namespace psim::api {

using psim::facts_of;       // what the record keeps of a message: clock, version, number, counts
using psim::Message;        // envelope and body: one of Push, Pull, Answer, ...
using psim::message_names;  // their names, in the order of the values
using psim::MessageKind;    // push, pull, weights, heartbeat, ...
using psim::wire_size;      // bytes on the network, without the header

}  // namespace psim::api

// To watch a run: every event when it happens, with its cause. docs/tables.md lists all types of events and
// their fields.
#pragma once

#include "sim/record/event.hpp"

namespace psim::api {

// psim::EventSink is the base class of an observer. psim calls on(event, hash) for each event, in the order
// of simulated time. `event.as<psim::ModelUpdate>()` returns the event if it has that type. An observer
// cannot change the run.
using psim::Event;
using psim::EventSink;
using psim::hash_of;    // 64 bits of all fields of an event
using psim::to_string;  // one line for people

}  // namespace psim::api

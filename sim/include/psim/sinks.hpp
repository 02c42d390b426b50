// Watching a run: every event, as it happens, with what caused it. docs/tables.md has all types of events and
// their fields.
#pragma once

#include "sim/record/event.hpp"

namespace psim::api {

// psim::EventSink is the base of an observer: on(event, hash) is called for each event in simulated time's
// order. `event.as<psim::ModelUpdate>()` is the event if it is of that type. An observer cannot steer the
// run.
using psim::Event;
using psim::EventSink;
using psim::hash_of;    // 64 bits of all fields of an event
using psim::to_string;  // one line for people

}  // namespace psim::api

// What a run must come to.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim::fuzz {

// Whether all faults pass by, or can be lived with, so that the run has to go on to its end. False where
// that is not known.
bool must_end(const Scenario& scenario);

}  // namespace psim::fuzz

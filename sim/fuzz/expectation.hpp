// What a run must come to.
#pragma once

#include "sim/scenario/scenario.hpp"

namespace psim::fuzz {

// Whether all faults pass by, or can be lived with, so that the run has to go on to its end. False where
// that is not known.
bool must_end(const Scenario& scenario);

// Whether somebody always knows who owns what. A scheduler that crashes forgets it, and counts epochs anew.
bool keeps_epochs(const Scenario& scenario);

}  // namespace psim::fuzz

// The expected outcome of a run.
#pragma once

#include "sim/scenario/spec/scenario.hpp"

namespace psim::fuzz {

// Whether all faults end or are tolerable, so that the run must reach its end. False if this is unknown.
bool must_end(const Scenario& scenario);

}  // namespace psim::fuzz

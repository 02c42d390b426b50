// The works that a scenario uses, by the sources in psim's tables.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/reference/references.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

struct Citation {
  std::string what;                          // "consistency.model = ssp"
  std::vector<const Reference*> references;  // empty for generated data and for files of the user
};

// In the order of the scenario's fields: the sources of its preset, consistency model, filters and data, of
// every choice that has a meaning and a source, and of every number with a source that is not the default. A
// system counts if it is the source of a row, or of a choice that is not the default. Otherwise every
// scenario would name MXNet.
std::vector<Citation> citations_of(const Scenario& scenario);

}  // namespace psim

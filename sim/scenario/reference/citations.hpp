// What a scenario uses of others' work, and where psim's tables say that it is from.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/reference/references.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim {

struct Citation {
  std::string what;                          // "consistency.model = ssp"
  std::vector<const Reference*> references;  // none: of what psim generates, or of the user's own files
};

// In the order of the scenario's fields: of its preset, consistency model, filters and data, of every choice
// that has a meaning and a source, and of every number with a source that is not the default. A system counts
// where it is the source of a row, or of a choice that is not the default; else every scenario would name
// MXNet.
std::vector<Citation> citations_of(const Scenario& scenario);

}  // namespace psim

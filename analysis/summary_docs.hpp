// The meanings of the keys of a run's summary, for `psim explain`. docs/results.md has the keys in their
// order.
#pragma once

#include <vector>

#include "analysis/study/field_docs.hpp"

namespace psim::analysis {

std::vector<FieldDoc> summary_docs();

}  // namespace psim::analysis

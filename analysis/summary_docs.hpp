// What the keys of a run's summary mean: `psim explain` knows them. docs/results.md has them in their order.
#pragma once

#include <vector>

#include "analysis/study/field_docs.hpp"

namespace psim::analysis {

std::vector<FieldDoc> summary_docs();

}  // namespace psim::analysis

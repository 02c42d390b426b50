// What the playground shows of a run, or of the runs of a study's cell.
#pragma once

#include <vector>

#include "analysis/render/html.hpp"

namespace psim::analysis {

// Each {name, value, text, doc}: the mean over these runs' summaries. Null, and "-", where one of them has
// none.
Json facts_of(const std::vector<const Json*>& summaries);

// {x, mean, low, high}: the curve of "loss" or "accuracy", without a band.
Json curve_of(const Json& summary, const char* what, double scale);

}  // namespace psim::analysis

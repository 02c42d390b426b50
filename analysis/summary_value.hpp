// Values of a summary by their place.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/record/summary_path.hpp"

namespace psim::analysis {

// Null if the summary lacks it.
inline nlohmann::ordered_json value_at(const nlohmann::ordered_json& summary, SummaryPath path) {
  return summary.value(nlohmann::ordered_json::json_pointer(path), nlohmann::ordered_json());
}

}  // namespace psim::analysis

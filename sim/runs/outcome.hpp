// Whether a run reached its target and its end, according to its summary.
#pragma once

#include <nlohmann/json.hpp>

namespace psim {

using Json = nlohmann::ordered_json;

// Whether the run, or any of its groups, missed its target.
bool misses_target(const Json& summary);

// Whether the run reached its end, and its target if it has one.
bool is_yes(const Json& summary);

}  // namespace psim

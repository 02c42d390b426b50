// Whether a run reached its target and its end, by its summary.
#pragma once

#include <nlohmann/json.hpp>

namespace psim {

using Json = nlohmann::ordered_json;

// Whether a run has a target, in any of its groups, that it has not reached.
bool misses_target(const Json& summary);

// Whether a run has reached what it was to reach: its target, if it has one, and its end.
bool is_yes(const Json& summary);

}  // namespace psim

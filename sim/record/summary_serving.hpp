// The part of a run's summary that says what inference nodes answered.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/record/result.hpp"

namespace psim {

// Requests, latencies in seconds, staleness in updates and age in seconds, in all and over time. `end`: of
// the run, in seconds.
nlohmann::ordered_json inference(const InferenceSpec& spec, const InferenceStats& stats, double end);

}  // namespace psim

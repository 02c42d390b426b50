// The part of a run's summary about the answers of inference nodes.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/record/result.hpp"

namespace psim {

// Requests, latencies in seconds, staleness in updates and age in seconds, in total and over time. `end`: the
// end of the run, in seconds.
nlohmann::ordered_json inference(const InferenceSpec& spec, const InferenceStats& stats, double end);

}  // namespace psim

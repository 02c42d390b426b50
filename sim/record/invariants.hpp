// Invariants of every run, whatever its scenario. psim checks each run; a broken invariant is an internal
// error.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "sim/record/result.hpp"

namespace psim {

struct BrokenInvariant : std::logic_error {
  using std::logic_error::logic_error;
};

// One line for each broken invariant:
// - For each worker, compute + wait + network + absent is its whole time, and no part is negative.
// - No worker computes and no server updates after the run's end.
// - A run that ends by itself ends when every worker has finished or is gone for good.
// - The record has as many samples as the workers have computed.
// - The last point of a curve evaluates the last weights.
// - No worker has more samples in the model than it has computed.
// - The bytes sent by kind of message add up to all bytes sent.
std::vector<std::string> broken_invariants(const RunResult& result);

// Throws BrokenInvariant if an invariant is broken. Its text contains `scenario`, for a report.
void check_invariants(const RunResult& result, const std::string& scenario);

}  // namespace psim

// What no run may break, whatever its scenario: every run is checked, and one that breaks any of it is an
// internal error.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "sim/record/result.hpp"

namespace psim {

struct BrokenInvariant : std::logic_error {
  using std::logic_error::logic_error;
};

// One line for each that is broken:
// - Of each worker: compute + wait + network + absent are its whole time, and none of them is negative.
// - Nobody computes and no server updates after the run's end.
// - A run that ends by itself ends when every worker is through that is not gone for good.
// - The samples that workers have computed are those in the record.
// - The last point of a curve is of the last weights.
// - No worker has more samples in the model than it has computed.
// - The bytes sent of all kinds of messages are all bytes sent.
std::vector<std::string> broken_invariants(const RunResult& result);

// Throws BrokenInvariant, with `scenario` to report, if there are any.
void check_invariants(const RunResult& result, const std::string& scenario);

}  // namespace psim

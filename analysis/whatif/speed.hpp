// How fast a worker computes at a date, as the scenario's stragglers say (sim/cluster/slowness.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

class Speed {
 public:
  // Without the slowness of the workers that `without` has true for.
  Speed(const Facts& facts, const std::vector<bool>& without = {});

  // Seconds that what the worker did in [from, until) would have taken it without slowness.
  double work(std::uint32_t worker, double from, double until) const;
  // The date at which that much work is done that begins at `from`.
  double end(std::uint32_t worker, double from, double work) const;

 private:
  struct Stretch {
    double share;  // of the full speed
    double until;  // seconds
  };
  Stretch at(std::uint32_t worker, double date) const;

  std::vector<std::vector<Straggler>> rows_;  // by worker; those by chance change no speed
};

}  // namespace psim::analysis

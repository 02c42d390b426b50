// How fast a worker computes at a date, as the scenario's stragglers say (sim/cluster/slowness.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

class Speed {
 public:
  // `without`: workers (true) that count as never slow.
  Speed(const Facts& facts, const std::vector<bool>& without = {});

  // Seconds without slowness for the work that the worker did in [from, until).
  double work(std::uint32_t worker, double from, double until) const;
  // The end date of `work` (seconds without slowness) that begins at `from`.
  double end(std::uint32_t worker, double from, double work) const;

 private:
  struct Stretch {
    double share;  // of the full speed
    double until;  // seconds
  };
  Stretch at(std::uint32_t worker, double date) const;

  std::vector<std::vector<Straggler>> rows_;  // by worker; stragglers by chance are not in here
};

}  // namespace psim::analysis

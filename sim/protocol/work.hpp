// How many samples of a clock each worker computes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace psim {

enum class WorkPolicy : std::uint8_t {
  fixed,         // every worker the same
  proportional,  // by the speed that the scenario gives its machine
  dynamic,       // by its measured time per sample
  stealing,      // workers that have finished take samples of others; see stealing.hpp
};

// Shares of `total` samples in proportion to `speeds`: rounded by the largest remainder, the first of equal
// ones, and at least 1 each. `total` must be at least the number of speeds, and these positive.
std::vector<std::int64_t> share_out(std::int64_t total, const std::vector<double>& speeds);

// The scheduler's use of measured times: once every worker has reported, it decides the next batch sizes
// (Chen et al., Semi-dynamic load balancing, SoCC 2020).
class Balancer {
 public:
  // `smoothing`: the newest time's weight in the exponential mean.
  Balancer(std::int64_t total, std::size_t workers, double smoothing)
      : total_(total), smoothing_(smoothing), times_(workers), reported_(workers, false) {}

  // Worker `worker` took `seconds_per_sample` seconds per sample. Returns all batch sizes if its report is
  // the last of the round; equal sizes as long as some worker takes no time at all.
  std::optional<std::vector<std::int64_t>> report(std::size_t worker, double seconds_per_sample);

 private:
  std::int64_t total_;
  double smoothing_;
  std::vector<std::optional<double>> times_;  // exponential means
  std::vector<bool> reported_;                // in this round
};

}  // namespace psim

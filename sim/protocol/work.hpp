// How many samples of a clock each worker computes. Pure.
//
// A clock has workers x batch_size samples. Decisions:
// - A push carries the samples of its batch. Where only fresh pushes count, it weighs its samples over the
//   mean of its group; elsewhere over batch_size. So a clock's update is the mean over its samples, however
//   they are shared out.
// - With work = "dynamic" a worker reports its time per sample at the end of every work_every clocks, and
//   starts the next one when the scheduler has answered: sizes of two decisions in one clock would make
//   batches overlap. So it needs a model that keeps all workers in one clock, and batches of the next
//   decision are not asked for ahead.
// - A worker that takes no part sees no samples. With lost_data = "reassign" the others share out its
//   samples from their next step on, as far as each knows who takes part.
// - The database keeps to one message at a time on each connection, so that batches asked for ahead do not
//   slow down the one that is needed first. Each batch therefore pays the latency.
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

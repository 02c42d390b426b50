// The slowest messages of a run: heartbeats, and the largest transfers of training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/spec/scenario.hpp"

namespace psim {

// Seconds from a server or worker to the scheduler over unused links: the latencies of all links of the
// route, times the factor of the flow model.
double slowest_heartbeat(const Scenario& scenario);

// Size over bandwidth.
struct TransferTime {
  double seconds = 0;        // until the last byte has arrived, without latency
  std::uint64_t bytes = 0;   // of one sender, before filters
  std::int64_t sharers = 1;  // senders that share the slowest link
  double bandwidth = 0;      // of this link, in bytes per second
};
// With servers: the pushes of all workers at once. Without: a worker's part of a sum, or the activations of a
// micro-batch.
TransferTime longest_transfer(const Scenario& scenario);

// The waits of [recovery] that are shorter than a transfer takes, each with a value that is long enough.
std::vector<std::string> short_waits(const Scenario& scenario);

}  // namespace psim

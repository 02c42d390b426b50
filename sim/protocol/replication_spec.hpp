// How the copies of a shard follow its owner.
#pragma once

#include <cstdint>

namespace psim {

// The content of the log: each update's sum of gradients, or each push as it arrives.
enum class ReplicateWhen : std::uint8_t { after_aggregation, every_push };
// The way of the log: the primary sends it to all replicas, or each replica sends it to the next one.
enum class ReplicationLayout : std::uint8_t { primary, chain };

struct ReplicationSpec {
  std::int64_t copies = 0;  // replicas of each shard
  ReplicateWhen when = ReplicateWhen::after_aggregation;
  ReplicationLayout layout = ReplicationLayout::primary;
  std::int64_t window = 0;  // a worker is answered when at most this number of log entries, up to its last
                            // push, are not on all replicas yet; 0: synchronous
};

}  // namespace psim

// Which pushes of each worker the keys of a shard have received: a vector clock for each range of keys,
// instead of one for each key (Li et al., OSDI 2014, section 4.1). Keys are positions within the shard.
//
// At first a shard is one range. A push is for the block of features of its clock, even if the batch has only
// some of the block's keys. So set() changes the clock of the whole block. With feature_blocks = 1 the block
// is the whole shard, and no range is ever split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/values.hpp"

namespace psim {

// set() splits at most the ranges at its two ends (algorithm 2 of the paper: one range becomes at most
// three). So m workers whose pushes are for k different ranges make O(m k) clocks, whatever the number of
// keys.
class RangeClock {
 public:
  // One range of all keys, every worker at 0.
  RangeClock(std::size_t keys, std::size_t workers) : keys_(keys), parts_{{0, Clocks(workers)}} {}

  // The smallest of the worker's clocks in the range; the range is not empty.
  std::int64_t least(Range range, std::size_t worker) const;
  // Whether some key of the range has a clock of this worker below `clock`.
  bool is_new(Range range, std::size_t worker, std::int64_t clock) const {
    return range.count > 0 && least(range, worker) < clock;
  }
  // Raises the worker's clock of these keys to `clock` where it is lower. Returns the number of new ranges;
  // neighbouring ranges merge when their clocks become equal.
  std::size_t set(Range range, std::size_t worker, std::int64_t clock);
  std::size_t ranges() const { return parts_.size(); }
  // The clocks of these keys only.
  RangeClock part(Range range) const;

 private:
  using Clocks = std::vector<std::int64_t>;  // by worker
  struct ClockedRange {
    std::size_t begin;  // up to the beginning of the next range
    Clocks clocks;
  };
  std::size_t cut(std::size_t key);

  std::size_t keys_;
  std::vector<ClockedRange> parts_;  // rising
};

}  // namespace psim

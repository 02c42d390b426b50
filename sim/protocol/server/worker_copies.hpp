// Where workers run the optimizer: which pulls need another worker's copy, and the search for one
// (copy_search.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/protocol/server/copy_search.hpp"
#include "sim/protocol/server/shard_context.hpp"
#include "sim/protocol/server/waiting_pulls.hpp"

namespace psim {

class WorkerCopies {
 public:
  // `is_on`: workers run the optimizer, and may get lost. `timeout`: seconds until the next worker is asked.
  WorkerCopies(bool is_on, double timeout) : is_on_(is_on), search_(timeout) {}

  // Whether this pull's worker needs a copy: it lacks this version, and the last update's sum is not enough.
  bool needs(const Pull& pull, const ShardState& state) const;
  // Puts into the answer the data that bring the worker to this version: a copy, a sum, or nothing.
  void fill(Answer& answer, const Pull& pull, const ShardState& state) const;

  // Looks for a copy of this version, and asks a worker for its copy when that worker is next. When no worker
  // is left that may have a copy, training continues with the first weights.
  enum class Found : std::uint8_t { here, not_yet, first_weights };
  Found find(const WaitingPulls& pulls, const ShardContext& shard);
  // A worker's answer. Returns whether this server searches for copies at all.
  bool take(NodeId from, const State& state, const ShardContext& shard);
  // The shard continues from this worker's copy: all its other data are lost.
  void adopt(const State& copy, ShardState& state);
  void forget() { search_.put(-1, nullptr); }

  // The date when the next worker is asked; none: this server searches for no copy.
  std::optional<double> next_turn() const { return search_.next_turn(); }

 private:
  bool may_have_copy(std::uint32_t worker, const WaitingPulls& pulls, const ShardState& state) const;

  bool is_on_;
  CopySearch search_;
};

}  // namespace psim

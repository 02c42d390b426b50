// The workers' pulls of one shard that are not answered yet, and which of them are due.
//
// Pushes can be lost with a server, so a rule that waits for them needs a way out:
// - Under bsp a push for a version that is made a second time may have come too early and been dropped. A
//   worker that waits for a newer version, and has no push here, gets the version once more.
// - Under k-sync a worker whose step was cancelled waits without having pushed. When every worker that
//   takes part has pushed or waits, and no update is complete, those that have not pushed get the version
//   once more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/protocol/server/shard_state.hpp"

namespace psim {

class WaitingPulls {
 public:
  // A copy, by worker's number.
  using All = std::map<std::uint32_t, Pull>;
  All all() const;
  // Replaces the worker's older pull. Returns false if a newer one has overtaken it, which may be answered
  // already: then the worker computes, and would seem to wait.
  bool put(std::uint32_t worker, const Pull& pull, const ShardState& state);
  Pull* find(std::uint32_t worker) { return worker < pulls_.size() ? pulls_[worker].get() : nullptr; }
  const Pull* find(std::uint32_t worker) const {
    return worker < pulls_.size() ? pulls_[worker].get() : nullptr;
  }
  void erase(std::uint32_t worker);
  void clear() {
    pulls_.clear();
    newest_.clear();
    all_arrived_.clear();
  }
  // To be told when pushes of the worker have arrived.
  void note_arrivals(std::uint32_t worker, const ShardState& state);
  // Calls `visit` with each worker whose pull may be due for what others did, rising; it may erase that pull.
  // Most pulls of an incast wait for their own worker's push, and most of fast workers for a clock that is
  // still far, so a look at all would cost each push O(n).
  template <class Visit>
  void for_each_waiting(const ShardState& state, Visit visit) {
    for (const std::uint32_t worker : perhaps_due(state)) visit(worker);
  }

  // Whether this pull asks for a clock or a version that will not exist.
  static bool is_over(const Pull& pull, const ShardState& state);
  // Whether it may be answered at `now`, in seconds: its worker may start its next clock, or has no clock
  // left.
  static bool is_due(std::uint32_t worker, const Pull& pull, ShardState& state, double now);
  // Whether it should have been answered by now. A policy that learns of a worker's wait may let it start
  // earlier, so this tells it of none.
  static bool is_overdue(std::uint32_t worker, const Pull& pull, const ShardState& state);
  // What the consistency policy is told of the pull's worker.
  static StartView start_of(std::uint32_t worker, const Pull& pull, const ShardState& state, double now);
  // Whether the worker will not push again: it has finished, and all its pushes have arrived.
  bool has_finished(std::uint32_t worker, const ShardState& state) const;
  // Whether a worker has sent everything that it will send before this shard has another version.
  bool waits_for_others(std::uint32_t worker, const ShardState& state) const;
  // If an update does not wait for all, workers whose steps were cancelled may wait for pushes of others that
  // are lost. When too few workers are left that could push, those that wait may compute this version again.
  // Returns whether that is so.
  bool restart_steps(const ShardState& state, double now);

 private:
  bool none_will_push(const ShardState& state) const;
  std::vector<std::uint32_t> perhaps_due(const ShardState& state) const;

  // By worker's number. There may be a million of them over all shards, and a map's node has more than twice
  // a pull's overhead.
  std::vector<std::unique_ptr<Pull>> pulls_;
  std::vector<std::int64_t> newest_;  // by worker's number: of its pulls so far, answered or not
  // Clocks of pulls, and their workers, all of whose pushes have arrived.
  std::set<std::pair<std::int64_t, std::uint32_t>> all_arrived_;
};

}  // namespace psim

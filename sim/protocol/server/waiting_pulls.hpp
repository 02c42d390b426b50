// The workers' unanswered pulls of one shard, and which of them are due.
//
// Pushes can be lost with a server, so a rule that waits for them needs a way out:
// - Under bsp a push for a version that is made a second time may have come too early and been dropped. A
//   worker that waits for a newer version, and has no push here, gets the same version again.
// - Under k-sync a worker with a cancelled step waits without having pushed. When every worker that takes
//   part has pushed or waits, and no update is complete, the workers that have not pushed get the same
//   version again.
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
  // Replaces the worker's older pull. Returns false if a newer pull has overtaken this one. The newer pull
  // may be answered already: then the worker computes, and must not count as waiting.
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
  // To be called when pushes of the worker have arrived.
  void note_arrivals(std::uint32_t worker, const ShardState& state);
  // Calls `visit`, in rising order, with each worker whose pull may be due because of other workers; `visit`
  // may erase that pull. Most pulls of an incast wait for their own worker's push, and most pulls of fast
  // workers wait for a clock that is still far away. So a visit of all pulls would cost each push O(n).
  template <class Visit>
  void for_each_waiting(const ShardState& state, Visit visit) {
    for (const std::uint32_t worker : perhaps_due(state)) visit(worker);
  }

  // Whether this pull asks for a clock or a version that will not exist.
  static bool is_over(const Pull& pull, const ShardState& state);
  // Whether the pull may be answered at `now`, in seconds: its worker may start its next clock, or has no
  // clock left.
  static bool is_due(std::uint32_t worker, const Pull& pull, ShardState& state, double now);
  // Whether the pull should have been answered by now. A policy that learns of a waiting worker may let it
  // start earlier, so this function does not tell the policy of a wait.
  static bool is_overdue(std::uint32_t worker, const Pull& pull, const ShardState& state);
  // The view of the pull's worker for the consistency policy.
  static StartView start_of(std::uint32_t worker, const Pull& pull, const ShardState& state, double now);
  // Whether the worker will not push again: it has finished, and all its pushes have arrived.
  bool has_finished(std::uint32_t worker, const ShardState& state) const;
  // Whether a worker has sent everything that it will send before this shard has another version.
  bool waits_for_others(std::uint32_t worker, const ShardState& state) const;
  // If an update does not wait for all, workers with cancelled steps may wait for lost pushes of others. When
  // too few workers are left that could push, the waiting workers may compute this version again. Returns
  // whether they may.
  bool restart_steps(const ShardState& state, double now);

 private:
  bool none_will_push(const ShardState& state) const;
  std::vector<std::uint32_t> perhaps_due(const ShardState& state) const;

  // By worker's number. A run may have a million of them over all shards, and a map's node has more than
  // twice the overhead of a pull.
  std::vector<std::unique_ptr<Pull>> pulls_;
  std::vector<std::int64_t> newest_;  // by worker's number: of its pulls so far, answered or not
  // The clock and the worker of each pull whose worker's pushes have all arrived.
  std::set<std::pair<std::int64_t, std::uint32_t>> all_arrived_;
};

}  // namespace psim

// The clock of each worker, from the events of a run, and the lead over the slowest worker when a worker
// starts a clock. A worker that was wrongly suspected may compute all the time. A worker that was away counts
// again once it has caught up so far that no answer from the time without it breaks the bound.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/verify/history.hpp"

namespace psim::analysis {

class ClockProgress {
 public:
  ClockProgress(const Facts& facts, const History& history)
      : facts_(facts), history_(history), workers_(facts.workers) {}

  // A worker starts a clock.
  struct Start {
    std::int64_t gap = 0;     // clocks; negative: behind
    std::size_t slowest = 0;  // the slowest of the other workers
  };
  std::optional<Start> on(const Row& row) {
    if (history_.any_set_back()) return std::nullopt;
    const bool goes =
        row.takes_away() || row.is<Suspicion>() || (row.is<Recount>() && !row.as<Recount>().takes_part);
    if (goes && facts_.is_worker(row.peer)) workers_[facts_.worker(row.peer)].away = true;
    if (!facts_.is_worker(row.node)) return std::nullopt;
    Progress& own = workers_[facts_.worker(row.node)];
    if (row.is_step(ComputePhase::ended)) own.done = std::max(own.done, row.clock + 1);
    if (row.is<Finish>()) own.done = std::max(own.done, row.clock);
    if (!row.is_step(ComputePhase::begun)) return std::nullopt;
    return look_at(row, own);
  }

 private:
  struct Progress {
    std::int64_t done = 0;  // clocks
    bool away = false;
  };

  Start look_at(const Row& row, Progress& own) {
    std::optional<std::int64_t> least;
    std::int64_t most = 0;
    Start start;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (&workers_[w] == &own) continue;
      most = std::max(most, workers_[w].done);
      if (workers_[w].away || (least && workers_[w].done >= *least)) continue;
      least = workers_[w].done;
      start.slowest = w;
    }
    own.done = own.away ? row.clock : std::max(own.done, row.clock);  // it may skip clocks
    const std::optional<std::int64_t> bound = facts_.bound_at(row.clock);
    const std::int64_t caught_up = std::max(least.value_or(0), bound ? most - *bound : 0);
    own.away = own.away && (history_.is_given_up(row.node) || row.clock < caught_up);
    if (least) start.gap = row.clock - *least;
    return start;
  }

  const Facts& facts_;
  const History& history_;
  std::vector<Progress> workers_;
};

}  // namespace psim::analysis
